"""Flags that an audit adds to its rows, on either side of their conditions."""

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.people import changed, corpus, named
from tests.effort import repetitions
from zeroevidence.attack.attackers import find_attacker
from zeroevidence.attack.cues import CUES
from zeroevidence.auditing import AuditOptions
from zeroevidence.auditing.embedding_audit import audit, with_curve
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech, LearningCurve
from zeroevidence.auditing.row_flags import (
    PitchChange,
    SharedChange,
    draw_flags,
    pitch_change,
    same_flags,
    shared_change,
    with_choice_flags,
    with_step_flags,
)
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError
from zeroevidence.evaluation import About, Evaluation, MeasureResult, Options, findings
from zeroevidence.sample import sample_sets, sentence_sets

ABOUT = About.against(find_attacker("backend-informed"))


def attack(backend, development, low, bits, high):
    measured = MeasureResult(bits, "bit", low=low, high=high)
    about = replace(ABOUT, development=development)
    counts = {"identities": 20}
    metrics = {"alid": measured, "top1": MeasureResult(0.5, "rate")}
    return Evaluation(metrics, counts, labels={"system": "s", "backend": backend}, about=about)


@pytest.mark.parametrize(("low", "expected"), [(0.7, ["development-disagrees"]), (0.5, [])])
def test_evaluated_people_contradict_the_choice_beyond_the_intervals(low, expected):
    rows = [attack("cosine", 2.0, 0.4, 0.5, 0.6), attack("plda", 1.0, low, 0.9, 1.1)]
    finding = findings(rows)[0]
    assert finding.strongest == 0
    chosen, other = with_choice_flags(rows, finding)
    assert [flag.code for flag in chosen.flags] == expected
    assert other.flags == ()
    assert all("plda learns more than this attacker" in flag.sentence for flag in chosen.flags)


def test_a_step_is_warned_of_cheaper_ones_and_not_of_the_fusion_of_all():
    cosine, whitened, fusion = (
        attack(backend, 1.0, bits - 0.1, bits, bits + 0.1)
        for backend, bits in (("cosine", 2.0), ("whitened", 1.0), ("fusion", 3.0))
    )
    rows = with_step_flags([cosine, whitened, fusion], {"cosine": 10, "whitened": 20})
    assert [[flag.code for flag in row.flags] for row in rows] == [[], ["weaker-than-cheaper-step"], []]


@pytest.mark.parametrize("code", ["still-rising", "training-pays", "draws-pay", "enrolment-pays"])
def test_a_curve_is_flagged_until_it_has_levelled_off(code):
    row = Evaluation({})
    for gain, expected in ((0.5, [code]), (0.09, []), (-0.2, [])):
        curve = LearningCurve((10, 20), (1.0, 1.0 + gain))
        assert [flag.code for flag in with_curve(row, curve, "alid_over_epochs", code).flags] == expected
    assert with_curve(row, None, "alid_over_epochs", code) == row


DIMENSION = 32
SEEDS = range(repetitions(2, 20))


def encoded(protect, seed=0, people=24, each=8):
    """Return people whose recordings scatter around a voice, before and after a function of vectors and speakers."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(people), each)
    x = rng.normal(size=(people, DIMENSION))[index] + 0.7 * rng.normal(size=(len(index), DIMENSION))
    return shared_out("made", (x, protect(x, index, rng)), index, each)


def shared_out(name, sides, index, each):
    """Both sides of the speech of people, half of whom are evaluated."""
    names = np.array([f"s{i:02d}" for i in index])
    ids = np.array([f"{name}-{j % each}" for j, name in enumerate(names)])
    split = np.array(["train", "dev", "eval", "eval"])[index % 4]
    role = np.where(np.arange(len(index)) % each < each // 2, "enrol", "trial")
    return EncodedSpeech(name, *(EmbeddingSets.from_roles(Embeddings(v, ids, names), split, role) for v in sides))


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


QUICK = AuditOptions(effort="quick", backends=("cosine",), measuring=Options(intervals=0, null=49, linkability="pav"))


def recorded(sessions, *, known=True, voice=0.0, people=36, each=6):
    """Embeddings of people: a room for each session of a person, and perhaps a voice."""
    rng = np.random.default_rng(0)
    speaker, session = np.repeat(np.arange(people), each), np.tile(np.arange(each) % sessions, people)
    rooms, voices = rng.normal(size=(people, sessions, 24)), rng.normal(size=(people, 24))
    vectors = rooms[speaker, session] + voice * voices[speaker] + 0.5 * rng.normal(size=(len(speaker), 24))
    sessions = np.array([f"p{i:02d}/{k}" for i, k in zip(speaker, session, strict=True)])
    return named(vectors, speaker, **({"session": sessions} if known else {}))


def attacks(embeddings):
    """P-value of the backend-informed attack, and the sentences of `one-session` on all attacks."""
    rows = [row for row in audit(embeddings, embeddings, QUICK).rows if row.about.role == "attack"]
    row = next(row for row in rows if row.about.threat.name == "backend-informed")
    return row["d_ece"].p_value, [flag.sentence for row in rows for flag in row.flags if flag.code == "one-session"]


@pytest.mark.parametrize(
    ("given", "leak", "flagged"),
    [
        ({"sessions": 2, "known": False}, True, False),  # the room is taken for the voice
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


def test_the_same_original_audio_on_both_sides_is_refused_unless_it_is_meant():
    embeddings, split, role = corpus()
    vectors = embeddings.vectors.copy()
    enrolled, tried = (np.flatnonzero((split == "eval") & (role == name)) for name in ("enrol", "trial"))

    def flags(other, *, allow_same=False):
        vectors[tried[0]] = vectors[other]
        sets = EmbeddingSets.from_roles(changed(embeddings, vectors), split, role)
        folds = [EncodedSpeech("e", sets, sets)] * 2  # two splits of the same people
        return [(flag.code, flag.sentence[:8]) for flag in same_flags(folds, allow_same=allow_same)]

    assert flags(tried[0]) == []
    assert flags(enrolled[-1]) == [("equal-vectors", "1 trials")]  # of another person
    with pytest.raises(InputError, match=r"'s02-4' is compared with itself; expected another recording"):
        flags(enrolled[0])
    assert flags(enrolled[0], allow_same=True) == [("same-recordings", "1 target")]


PITCH_SEEDS = range(repetitions(3, 20))
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
    return shared_out("cues", sides, index, each)


def octaves(pitch, index, rng):
    """A fixed shift that is tracked an octave too low for every sixth person."""
    return np.where(index % 6 == 0, -8.0, 4.0)


SAME_PITCH = {
    "none": lambda pitch, index, rng: 0.0 * pitch,
    "fixed": lambda pitch, index, rng: 4.0 + 0.0 * pitch,
    "wider": lambda pitch, index, rng: 0.5 * pitch,
    "one voice": lambda pitch, index, rng: 3.0 - pitch,
    "octaves": octaves,
    "per utterance": lambda pitch, index, rng: rng.uniform(-5.0, 5.0, len(pitch)),
}


def drawn(pitch, index, rng):
    return rng.uniform(-5.0, 5.0, index.max() + 1)[index]


PITCH_PER_SPEAKER = {"shift": drawn, "another voice": lambda pitch, index, rng: drawn(pitch, index, rng) - pitch}


@pytest.mark.parametrize("kind", [*SAME_PITCH, *PITCH_PER_SPEAKER])
def test_pitch_that_is_drawn_per_speaker_is_told_from_what_is_the_same_for_all(kind):
    move = (SAME_PITCH | PITCH_PER_SPEAKER)[kind]
    changes = [pitch_change([cues(move, seed)]) for seed in PITCH_SEEDS]
    assert {change.drawn_per_speaker for change in changes} == {kind in PITCH_PER_SPEAKER}, changes
    if kind in PITCH_PER_SPEAKER:
        assert 1.0 < changes[0].between < 5.0


def test_nothing_is_said_where_no_pitch_is_measured():
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
