"""Whether the pitch is moved by another amount for each speaker."""

import numpy as np
import pytest

from tests.effort import repetitions
from zeroevidence.attack.cues import CUES
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech
from zeroevidence.auditing.row_flags import PitchChange, SharedChange, draw_flags, pitch_change
from zeroevidence.data.embeddings import Embeddings

SEEDS = range(repetitions(3, 20))
FEATURES = [(cue.name, feature.name) for cue in CUES.values() for feature in cue.features]
MEDIAN = FEATURES.index(("pitch", "median"))
SEMITONE = np.log(2.0) / 12.0 / CUES["pitch"].features[1].spread


def cues(move, seed=0, people=30, each=6):
    """Return cues of people whose pitch is moved by a function of pitch, speakers and a generator, in semitones."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(people), each)
    pitch = rng.normal(0.0, 4.0, people)[index] + rng.normal(0.0, 1.0, len(index))
    sides = []
    for semitones in (pitch, pitch + move(pitch, index, rng) + rng.normal(0.0, 0.2, len(index))):
        vectors = rng.normal(size=(len(index), len(FEATURES)))
        vectors[:, MEDIAN] = semitones * SEMITONE
        sides.append(vectors)
    names = np.array([f"s{i:02d}" for i in index])
    ids = np.array([f"{name}-{j % each}" for j, name in enumerate(names)])
    split = np.array(["train", "dev", "eval", "eval"])[index % 4]
    role = np.where(np.arange(len(index)) % each < each // 2, "enrol", "trial")
    return EncodedSpeech("cues", *(EmbeddingSets.from_roles(Embeddings(v, ids, names), split, role) for v in sides))


def octaves(pitch, index, rng):
    """A fixed shift that is tracked an octave too low for every sixth person."""
    return np.where(index % 6 == 0, -8.0, 4.0)


SAME_FOR_ALL = {
    "none": lambda pitch, index, rng: 0.0 * pitch,
    "fixed": lambda pitch, index, rng: 4.0 + 0.0 * pitch,
    "wider": lambda pitch, index, rng: 0.5 * pitch,
    "one voice": lambda pitch, index, rng: 3.0 - pitch,
    "octaves": octaves,
    "per utterance": lambda pitch, index, rng: rng.uniform(-5.0, 5.0, len(pitch)),
}


def drawn(pitch, index, rng):
    return rng.uniform(-5.0, 5.0, index.max() + 1)[index]


DRAWN_PER_SPEAKER = {"shift": drawn, "another voice": lambda pitch, index, rng: drawn(pitch, index, rng) - pitch}


@pytest.mark.parametrize("kind", [*SAME_FOR_ALL, *DRAWN_PER_SPEAKER])
def test_what_is_drawn_per_speaker_is_told_from_what_is_the_same_for_all(kind):
    move = (SAME_FOR_ALL | DRAWN_PER_SPEAKER)[kind]
    changes = [pitch_change([cues(move, seed)]) for seed in SEEDS]
    assert {change.drawn_per_speaker for change in changes} == {kind in DRAWN_PER_SPEAKER}, changes
    if kind in DRAWN_PER_SPEAKER:
        assert 1.0 < changes[0].between < 5.0


def test_nothing_is_said_where_nothing_is_measured():
    speech = cues(lambda pitch, index, rng: index % 7)
    assert pitch_change([]) == PitchChange()
    assert pitch_change([cues(lambda pitch, index, rng: index % 7, people=16)]) == PitchChange()
    first, last = MEDIAN - 1, MEDIAN + 6

    def whispered(part):
        vectors = part.vectors.copy()
        vectors[:, first:last] = 0.0
        return vectors

    assert pitch_change([EncodedSpeech("cues", speech.original, speech.anonymised.mapped(whispered))]) == PitchChange()
    assert not PitchChange().drawn_per_speaker


@pytest.mark.parametrize("linkable", [True, False])
def test_the_flag_needs_recordings_that_can_be_linked(linkable):
    change = SharedChange(0.1, 0.1, 0.005 if linkable else 0.5)
    flags = draw_flags(change, PitchChange(2.5, 0.2))
    assert [(flag.code, "2.5 semitones" in flag.sentence) for flag in flags] == (
        [("pitch-drawn-per-speaker", True)] if linkable else []
    )
    assert draw_flags(change, PitchChange(2.5, 2.0)) == []
