"""An audit of people whose recordings share nothing but the room: sessions tell it from the voice."""

import numpy as np
import pytest

from zeroevidence import Embeddings
from zeroevidence.auditing import AuditOptions
from zeroevidence.auditing.embedding_audit import audit
from zeroevidence.evaluation import Options

QUICK = AuditOptions(effort="quick", backends=("cosine",), measuring=Options(intervals=0, null=49, linkability="pav"))


def recorded(sessions, *, named=True, voice=0.0, people=36, each=6):
    """Embeddings of people: a room for each session of a person, and perhaps a voice."""
    rng = np.random.default_rng(0)
    speaker, session = np.repeat(np.arange(people), each), np.tile(np.arange(each) % sessions, people)
    rooms, voices = rng.normal(size=(people, sessions, 24)), rng.normal(size=(people, 24))
    vectors = rooms[speaker, session] + voice * voices[speaker] + 0.5 * rng.normal(size=(len(speaker), 24))
    names = np.array([f"p{i:02d}" for i in speaker])
    ids = np.array([f"{name}-{k}" for k, name in enumerate(names)])
    attributes = {"session": np.array([f"{name}/{k}" for name, k in zip(names, session, strict=True)])}
    return Embeddings(vectors, ids, names, attributes if named else {})


def attacks(embeddings):
    """P-value of the semi-informed attack, and the sentences of `one-session` on all attacks."""
    rows = [row for row in audit(embeddings, embeddings, QUICK).rows if row.about.role == "attack"]
    row = next(row for row in rows if row.about.threat.name == "semi-informed")
    return row["d_ece"].p_value, [flag.sentence for row in rows for flag in row.flags if flag.code == "one-session"]


@pytest.mark.parametrize(
    ("given", "leak", "flagged"),
    [
        ({"sessions": 2, "named": False}, True, False),  # the room is taken for the voice
        ({"sessions": 2}, False, False),
        ({"sessions": 2, "voice": 1.0}, True, False),
        ({"sessions": 1}, True, True),
    ],
)
def test_the_room_and_the_voice(given, leak, flagged):
    p_value, sentences = attacks(recorded(**given))
    assert (p_value <= 0.05) == leak
    assert bool(sentences) == flagged
    if flagged:
        assert len(sentences) == 3
        assert sentences[0].startswith("42 of 42 trials were recorded in a session that their speaker is enrolled from")
