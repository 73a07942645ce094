"""Encoders that learn within an audit: what they learn from, what is kept, and why they may not."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.people import changed, corpus
from tests.effort import slow
from tests.small_encoder import DIM, save_small_encoder
from zeroevidence.attack.attackers import find_attacker
from zeroevidence.attack.cues import CUES
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.onnx_cards import person_digest
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.auditing import (
    AuditOptions,
    EmbeddingSets,
    EncodedSpeech,
    FineTuningHistory,
    LearningCurve,
    audit,
    audit_corpora,
    read_speech,
)
from zeroevidence.auditing import encoders as finetuning
from zeroevidence.auditing.encoders import FineTuner, encode_further, pools_crops
from zeroevidence.auditing.step_attack import FoldResult, disclosure, fuse
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.run import Run

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
soundfile = pytest.importorskip("soundfile")

RATE = 16_000
TRAIN, DEV = 16, 3
P03 = person_digest("p03")


def voice(speaker, utterance):
    rng = np.random.default_rng([speaker, utterance])
    time = np.arange(RATE // 2) / RATE
    tilt = 0.5 + 0.02 * speaker
    tones = sum(tilt**h * np.sin(2 * np.pi * (90 + 9 * speaker) * h * time + rng.uniform(0, 6)) for h in range(1, 9))
    return 0.1 * tones + 0.01 * rng.normal(size=len(time))


@pytest.fixture(scope="module")
def utterances(tmp_path_factory):
    home = tmp_path_factory.mktemp("speech")
    found = []
    for speaker in range(TRAIN + DEV):
        for number in range(2):
            path = home / f"p{speaker:02d}_{number}.wav"
            soundfile.write(path, voice(speaker, number), RATE)
            role, split = ("train", None) if speaker < TRAIN else (("enrol", "trial")[number], "dev")
            found.append(Utterance(path.stem, f"p{speaker:02d}", path, role, split))
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The card of an encoder with few weights."""
    return save_small_encoder(tmp_path_factory.mktemp("small"))


# Enough to see what is kept; weights are random, and far from what can be learned.
SHORT = TrainingSettings(epochs=2, look=1, crop=30, batch=32, learning_rate=3e-3)


@pytest.mark.parametrize("effort", ["full", pytest.param("standard", marks=slow)])
def test_an_encoder_learns_once_and_is_kept(utterances, small, tmp_path, monkeypatch, effort):
    said = []
    tuning = FineTuner(utterances, None, effort, Run(cache=tmp_path, say=said.append), SHORT)
    encoder = load_extractor(small)
    found = tuning(encoder)
    assert found.reason == ""
    assert (found.learned.people, found.learned.recordings, found.learned.epochs) == (TRAIN, 2 * TRAIN, 2)
    assert said
    vectors = load_extractor(found.card).embed([voice(0, 0).astype(np.float32)])
    assert vectors.shape == (1, DIM)
    if effort == "full":  # it learns again from less
        assert found.further == ""
        assert found.learned.over_people.amount == (8, 16)
        assert found.learned.over_epochs.amount == (1, 2)
        assert not list(tmp_path.rglob("checkpoints"))  # nothing is left to train
    else:
        assert "every weight" in found.further
        assert not np.allclose(vectors, encoder.embed([voice(0, 0).astype(np.float32)]))
    monkeypatch.setattr(finetuning, "fine_tune", None)  # it must not be trained again
    kept = tuning(encoder)
    assert (kept.card, kept.learned) == (found.card, found.learned)
    assert replace(tuning, fold=(2, 3))(encoder).further == ""  # it is said of the first


def test_a_training_that_is_done_leaves_no_checkpoint_and_is_not_repeated(utterances, small, tmp_path, monkeypatch):
    said, left = [], []

    def say(sentence):
        said.append(sentence)
        if sentence.startswith("again"):
            left.append(list(tmp_path.rglob("checkpoints")))
        if sentence == "again, 1 epochs":
            raise KeyboardInterrupt

    tuning = FineTuner(utterances, None, "full", Run(cache=tmp_path, say=say), SHORT)
    with pytest.raises(KeyboardInterrupt):
        tuning(load_extractor(small))
    assert [sentence for sentence in said if sentence.startswith("again")] == ["again, 8 people", "again, 1 epochs"]
    assert left == [[], []]
    monkeypatch.setattr(finetuning, "fine_tune", None)
    said.clear()
    found = replace(tuning, run=Run(cache=tmp_path, say=said.append))(load_extractor(small))
    assert said == ["again, 1 epochs"]
    assert (found.learned.over_people.amount, found.learned.over_epochs.amount) == ((8, 16), (1, 2))


@pytest.mark.parametrize(("draws", "epochs"), [(1, 30), (2, 22), (5, 14), (10, 10)])
def test_there_are_fewer_epochs_over_more_draws(utterances, tmp_path, draws, epochs):
    tuner = FineTuner(utterances, None, "full", Run(cache=tmp_path), draws=draws)
    assert tuner._filled("all").epochs == epochs
    assert replace(tuner, settings=TrainingSettings(epochs=7))._filled("all").epochs == 7


def test_what_prevents_it_is_said(utterances, small, tmp_path, monkeypatch):
    few = [one for one in utterances if one.speaker < "p07" or one.split == "dev"]
    assert FineTuner(few, None, "full", Run(cache=tmp_path))(load_extractor(small)).reason == (
        "7 training people; an encoder needs at least 8 to learn"
    )
    assert "no ONNX file" in FineTuner(utterances, None, "full", Run(cache=tmp_path))(load_extractor("cues")).reason

    def missing(_):
        raise MissingExtra("torch", "training")

    monkeypatch.setattr(finetuning, "training_loop", missing)
    assert (
        "zeroevidence[torch]" in FineTuner(utterances, None, "full", Run(cache=tmp_path))(load_extractor(small)).reason
    )


def test_an_encoder_that_knows_the_evaluated_people_is_refused(utterances, small, tmp_path):
    known = small.with_name("known.json")
    known.write_text(json.dumps(json.loads(small.read_text()) | {"name": "retrained", "training_people": [P03]}))
    lines = ["utterance\tspeaker\tpath\trole\tsplit"]
    for number, each in enumerate(utterances):
        split = "eval" if each.speaker < "p06" else each.split
        role = ("enrol", "trial")[number % 2] if split else "train"
        lines.append(f"{each.id}\t{each.speaker}\t{each.path}\t{role}\t{split or ''}")
    (tmp_path / "utterances.tsv").write_text("\n".join(lines) + "\n")
    options = AuditOptions(extractor=small, extractor_anonymised=known, measuring=Options(intervals=0, null=0))
    speech = read_speech(tmp_path / "utterances.tsv", protector="mcadams")
    with pytest.raises(InputError, match="retrained was trained with 1 of the evaluated people, among them 'p03'"):
        audit_corpora(speech, options, Run(cores=1, cache=tmp_path / "cache"))


FAST = Options(intervals=0, null=0, linkability="pav")


def sets(noise):
    """Before and after a protection that adds noise in a few directions."""
    embeddings, split, role = corpus()
    loud = embeddings.vectors.copy()
    loud[:, :4] += noise * np.random.default_rng(1).normal(size=(len(loud), 4))
    return tuple(EmbeddingSets.from_roles(one, split, role) for one in (embeddings, changed(embeddings, loud)))


def test_a_trained_encoder_needs_no_original_speech_and_is_used_by_the_informed_only():
    rising = LearningCurve((10, 20), (1.0, 1.5))
    learned = FineTuningHistory(20, 200, 12, rising, LearningCurve((6, 12), (1.48, 1.5)))
    trained = EncodedSpeech("trained", None, sets(noise=0.2)[1], trained_on="anonymised", learned=learned)
    found = audit(*sets(noise=4.0), AuditOptions(effort="quick", measuring=FAST), encoders=[trained])
    rows = [row for row in found.rows if row.labels["encoder"] == "trained"]
    assert {row.about.threat.name for row in rows} == {"semi-informed"}
    frozen = {row.about.threat.name for row in found.rows if row.labels["encoder"] == "embeddings"}
    assert frozen == {"unprotected", "random", "ignorant", "lazy-informed", "backend-informed"}
    fused = [i for i, row in enumerate(found.rows) if "+" in row.labels["encoder"]]
    assert {found.rows[i].about.threat.name for i in fused} == {"semi-informed"}
    extractors = "embeddings, trained on original speech; trained, trained on anonymised speech"
    assert {found.cards[i].extractor for i in fused} == {extractors}
    assert not any("semi-informed" in line for line in found.left_out)
    assert all(row.about.spent.epochs == 12 and row.about.spent.recordings == 200 for row in rows)
    plain = next(row for row in found.rows if row.labels["encoder"] == "embeddings" and row.about.role == "attack")
    assert plain.about.spent == TrainingEffort(20, 2, development_people=20)
    assert "trained" in found.strongest.labels["encoder"]
    assert found.curve == rising
    assert {one.code for one in found.strongest.flags} >= {"still-rising"}
    assert "training-pays" not in {one.code for one in found.strongest.flags}
    assert "12 epochs over 200 anonymised recordings" in found.cards[found.finding.strongest].to_text()
    assert [row.about for row in from_json(to_json(found.rows))] == [row.about for row in found.rows]
    assert len(found.seconds) == len(found.rows)


def test_cues_join_in_together_and_one_at_a_time():
    pytest.importorskip("onnxruntime")
    embeddings, split, role = corpus()
    size = sum(len(one.features) for one in CUES.values())
    wide = changed(embeddings, np.random.default_rng(0).normal(size=(len(embeddings.ids), size)))
    both = EmbeddingSets.from_roles(wide, split, role)
    asked = []

    def embeds(extractor):
        asked.append(extractor.name)
        return both, both

    class Voice:
        name, sample_rate, dim, fingerprint = "campplus", 16_000, 4, "x"

    assert list(encode_further(Voice(), "quick", embeds)) == []
    found = list(encode_further(Voice(), "standard", embeds))
    assert asked == ["cues"]
    assert [one.name for one in found] == ["cues", *(f"cue:{name}" for name in CUES)]
    assert [one.anonymised.train.vectors.shape[1] for one in found] == [size, *(len(c.features) for c in CUES.values())]
    joined = np.hstack([one.anonymised.eval_trial.vectors for one in found[1:]])
    assert np.array_equal(joined, both.eval_trial.vectors)
    informed, ignorant = find_attacker("backend-informed"), find_attacker("ignorant")
    assert all(one.serves(informed, "whitened") for one in found)
    assert [one.serves(ignorant, "whitened") for one in found] == [True] + [False] * len(CUES)


@pytest.mark.parametrize("gpu", [False, True])
def test_crops_are_pooled_with_full_effort_or_a_gpu(monkeypatch, gpu):
    monkeypatch.setattr("zeroevidence.auditing.encoders.has_gpu", lambda: gpu)
    assert [pools_crops(effort) for effort in ("quick", "standard", "full")] == [False, gpu, True]


def attempt(name, strength, seed):
    rng = np.random.default_rng(seed)
    parts = []
    for group in (1, 2):
        mated = np.arange(80) % 20
        people = np.array([f"g{group}p{k:02d}" for k in range(20)])
        scores = rng.normal(size=(80, 20)) + strength * np.eye(20)[mated]
        trials = np.array([f"g{group}t{i:02d}" for i in range(80)])
        names = {"enrolments": people, "trial_speakers": people[mated], "enrolment_speakers": people}
        parts.append(ScoreMatrix(scores, mated, trials=trials, **names))
    return FoldResult(name, (name,), object(), *parts, disclosure(parts[1]))


def test_a_fusion_of_people_who_are_all_found_takes_in_every_encoder():
    """Each names all development people, so that none adds to the first; evaluated people are harder to find."""

    def saturated(name, seed):
        part = attempt(name, 2.5, seed)
        found = replace(part.dev, scores=part.dev.scores + 20.0 * np.eye(20)[part.dev.mated])
        return replace(part, dev=found, development=disclosure(found))

    parts = [saturated(f"encoder{i}", i) for i in range(4)]
    fused = fuse(parts)
    assert fused.encoders == ("encoder0", "encoder1", "encoder2", "encoder3")
    assert disclosure(fused.scores) > max(disclosure(part.scores) for part in parts) + 0.5


def test_a_part_of_an_encoder_is_not_fused_beside_the_whole():
    original, anonymised = sets(noise=0.5)
    part = EncodedSpeech(
        "part", None, anonymised.mapped(lambda part: part.vectors[:, :3]), steps=("whitened",), part_of="whole"
    )
    whole = EncodedSpeech("whole", original, anonymised, steps=("whitened",))
    audited = audit(
        original, anonymised, AuditOptions(effort="quick", measuring=FAST), encoders=[whole, part], extractor="encoder"
    )
    rows = [row for row in audited.rows if row.labels["encoder"] == "whole"]
    assert {row.labels["backend"] for row in rows} == {"whitened"}
    assert {row.about.threat.name for row in rows} == {"unprotected", "ignorant", "lazy-informed", "backend-informed"}
    fused = [row for row in audited.rows if row.labels["backend"] == "fusion"]
    assert fused
    assert {row.labels["encoder"] for row in fused} == {"encoder+whole"}


def test_a_fusion_takes_in_what_helps_and_leaves_noise_out():
    good, other = attempt("good", 2.5, 1), attempt("other", 2.2, 2)
    noise = [attempt(f"noise{i}", 0.0, 10 + i) for i in range(4)]
    found = fuse([noise[0], good, noise[1], other, *noise[2:]])
    assert {"good", "other"} <= set(found.encoders)
    assert len(found.encoders) <= 4
    assert found.development > good.development
    assert disclosure(found.scores) > disclosure(good.scores)
    assert found.settings == 6


@pytest.mark.parametrize("seed", range(2))
def test_the_evaluated_people_choose_nothing(seed):
    parts = [attempt("a", 1.5, seed), attempt("b", 1.4, seed + 50), attempt("c", 0.2, seed + 90)]
    rng = np.random.default_rng(seed)
    shuffled = [
        replace(one, scores=replace(one.scores, scores=rng.permuted(one.scores.scores, axis=1))) for one in parts
    ]
    first, second = fuse(parts), fuse(shuffled)
    assert (first.encoders, first.development) == (second.encoders, second.development)
