"""Whether a protection is drawn per speaker: by what protected recordings share that their originals do not explain."""

import numpy as np
import pytest

from tests.effort import repetitions
from zeroevidence.auditing.embedding_sets import EmbeddingSets
from zeroevidence.auditing.encoded_speech import EncodedSpeech
from zeroevidence.auditing.row_flags import SharedChange, shared_change
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.sample import sample_sets, sentence_sets

DIMENSION = 32
SEEDS = range(repetitions(2, 20))


def encoded(protect, seed=0, people=24, each=8):
    """Return people whose recordings scatter around a voice, before and after a function of vectors and speakers."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(people), each)
    x = rng.normal(size=(people, DIMENSION))[index] + 0.7 * rng.normal(size=(len(index), DIMENSION))
    names = np.array([f"s{i:02d}" for i in index])
    ids = np.array([f"{name}-{j % each}" for j, name in enumerate(names)])
    split = np.array(["train", "dev", "eval", "eval"])[index % 4]
    role = np.where(np.arange(len(index)) % each < each // 2, "enrol", "trial")
    sides = x, protect(x, index, rng)
    return EncodedSpeech("made", *(EmbeddingSets.from_roles(Embeddings(v, ids, names), split, role) for v in sides))


def noise(rng, shape, scale=0.5):
    return scale * rng.normal(size=shape)


def turn(x, rng):
    return x @ np.linalg.qr(rng.normal(size=(DIMENSION, DIMENSION)))[0]


SAME_FOR_ALL = {
    "unchanged": lambda x, index, rng: x,
    "one file": lambda x, index, rng: np.ones_like(x),
    "one file, embedded with rounding": lambda x, index, rng: 1.0 + 1e-8 * rng.normal(size=x.shape),
    "one synthetic voice": lambda x, index, rng: 3.0 + noise(rng, x.shape),
    "fixed shift": lambda x, index, rng: x + 2.0 * rng.normal(size=DIMENSION),
    "fixed turn": lambda x, index, rng: turn(x, rng),
    "fixed turn with noise": lambda x, index, rng: turn(x, rng) + noise(rng, x.shape, 2.0),
    "fixed and bent": lambda x, index, rng: np.tanh(turn(x, rng)),
    "drawn per utterance": lambda x, index, rng: x + 2.0 * rng.normal(size=x.shape),
    "another voice per utterance": lambda x, index, rng: 2.0 * rng.normal(size=x.shape),
}
DRAWN_PER_SPEAKER = {
    "shift": lambda x, index, rng: x + 1.5 * rng.normal(size=(index.max() + 1, DIMENSION))[index],
    "shift in three directions": lambda x, index, rng: (
        x + 4.0 * rng.normal(size=(index.max() + 1, 3))[index] @ np.eye(3, DIMENSION)
    ),
    "another voice": lambda x, index, rng: rng.normal(size=(index.max() + 1, DIMENSION))[index] + noise(rng, x.shape),
}


@pytest.mark.parametrize("kind", [*SAME_FOR_ALL, *DRAWN_PER_SPEAKER])
def test_what_is_drawn_per_speaker_is_told_from_what_the_originals_explain(kind):
    protect = (SAME_FOR_ALL | DRAWN_PER_SPEAKER)[kind]
    changes = [shared_change([encoded(protect, seed)], seed) for seed in SEEDS]
    assert {change.drawn_per_speaker for change in changes} == {kind in DRAWN_PER_SPEAKER}, changes


@pytest.mark.parametrize(
    ("sets", "protection", "drawn"),
    [(sample_sets, "mcadams", True), (sample_sets, "pitch", False), (sentence_sets, "protected", False)],
    ids=["drawn per speaker", "fixed", "drawn per utterance"],
)
def test_real_speech(sets, protection, drawn):
    change = shared_change([EncodedSpeech("bundled", sets("original"), sets(protection))])
    assert change.drawn_per_speaker == drawn
    assert change.linkable_p_value < 0.01  # so that the others are told apart by what is explained


def test_nothing_is_said_where_nothing_can_be_compared():
    alone = encoded(DRAWN_PER_SPEAKER["shift"], each=2)  # one trial each
    assert shared_change([alone]) == SharedChange()
    known = encoded(DRAWN_PER_SPEAKER["shift"])
    assert shared_change([EncodedSpeech("made", None, known.anonymised)]) == SharedChange()
    assert not SharedChange().drawn_per_speaker
    few = shared_change([encoded(DRAWN_PER_SPEAKER["shift"], people=16)])  # of whom twelve have trials
    assert few.share > 0.5
    assert few.error == np.inf
    assert not few.drawn_per_speaker


def test_parts_of_one_recording_are_not_compared():
    def per_recording(x, index, rng):
        return x + 2.0 * rng.normal(size=(len(x) // 2, DIMENSION)).repeat(2, axis=0)

    speech = encoded(per_recording)
    names = np.concatenate([part.ids for part in speech.original.parts().values()]).tolist()
    files = {name: f"{name.partition('-')[0]}-{int(name.partition('-')[2]) // 2}" for name in names}
    assert shared_change([speech]).drawn_per_speaker
    assert not shared_change([speech], recordings=files).drawn_per_speaker
    assert shared_change([speech], recordings=dict.fromkeys(names, "one")) == SharedChange()
    drawn = encoded(DRAWN_PER_SPEAKER["shift"])
    assert shared_change([drawn], recordings=files).drawn_per_speaker


def test_folds_count_every_trial_once():
    speech = encoded(DRAWN_PER_SPEAKER["shift"])
    assert shared_change([speech, speech]) == shared_change([speech])
