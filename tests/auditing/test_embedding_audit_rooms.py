"""The room control: recordings that share their room within people, or only their voice, and the flag in an audit."""

import numpy as np
import pytest

from scripts.make_speech import make_recordings
from tests.auditing.people import named
from tests.effort import slow
from zeroevidence.attack.cues import cue_columns
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.auditing import AuditOptions, EncodedSpeech, audit
from zeroevidence.auditing.embedding_audit import CONTROL, WITHOUT_VOICE, room_control
from zeroevidence.auditing.embedding_sets import draw_sets
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.report.verdict import verdict

MOST = "4.25"  # of 19 people
TESTED = Options(intervals=0, null=39, linkability="pav")


@pytest.mark.parametrize(("shared", "flagged"), [("room", True), pytest.param("voice", False, marks=slow)])
def test_made_up_recordings_that_share_their_room_or_only_their_voice(shared, flagged):
    made = make_recordings(24, 4, (shared,), np.random.default_rng(1))
    speakers, names, waves = zip(*made, strict=True)
    vectors = load_extractor(CONTROL).embed(waves)
    embeddings = Embeddings(vectors, np.array(names), np.array(speakers))
    folds = [EncodedSpeech(CONTROL, *sides) for sides in draw_sets(embeddings, embeddings, 0, 0)]
    rows = room_control(folds, AuditOptions(measuring=TESTED)).rows
    assert [chance.beaten for chance in chances(rows)] == [flagged, flagged]
    assert [(row.about.role, row.labels["encoder"]) for row in rows] == [("room", CONTROL)] * 2
    if flagged:
        assert min(row.number("alid") for row in rows) > 2.0


def cues_of(rng, where, people=48, each=4):
    """Vectors of all cues in which people differ in some cues only, and their names."""
    columns = cue_columns(where)
    offsets = np.repeat(rng.normal(size=(people, len(columns))), each, axis=0) * columns
    return named(offsets + 0.5 * rng.normal(size=(people * each, len(columns))), np.repeat(np.arange(people), each))


def audited(before, after):
    """An audit of cues whose people differ in some of them before protection, and in some after it."""
    rng = np.random.default_rng(0)
    original, protected = cues_of(rng, before), cues_of(rng, after)
    ((first, second),) = draw_sets(original, protected, 0, 0)
    cues = EncodedSpeech("cues", first, second)
    voices = [side.mapped(lambda part: part.vectors[:, ::7] + 0.0) for side in (first, second)]
    return audit(
        *voices, AuditOptions(attackers=("backend-informed",), backends=("cosine",), measuring=TESTED), encoders=[cues]
    )


@pytest.mark.parametrize(
    ("before", "after", "flagged"),
    [
        (WITHOUT_VOICE, WITHOUT_VOICE, {"control", "attack", "room"}),
        (WITHOUT_VOICE, (), {"control", "room"}),
        (("pitch", "rate", "spectrum"), ("pitch", "rate", "spectrum"), set()),
    ],
)
def test_the_flag_says_how_many_bits_come_without_a_voice(before, after, flagged):
    result = audited(before, after)
    rows = from_json(to_json(result.rows))
    by_role = {row.about.role: flag.sentence for row in rows for flag in row.flags if flag.code == "recordings-differ"}
    assert set(by_role) == flagged
    rooms = [row for row in rows if row.about.role == "room"]
    assert [row.labels["system"] for row in rooms] == ["unprotected", "anonymised"]
    for role, room, when in (("control", rooms[0], "before"), ("attack", rooms[1], "after")):
        sentence = f"give away {room.number('alid'):.2f} of {MOST} bits {when} protection"
        assert role not in flagged or sentence in by_role[role]
    # a room that protection hides is not held against protected speech
    assert ("recordings, and not about voices alone" in verdict(rows).paragraph) == ("attack" in flagged)
    assert len(result.cards) == len(result.seconds) == len(rows)
