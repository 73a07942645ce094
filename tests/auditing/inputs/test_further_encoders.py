"""Further encoders in an audit: who uses them, what they cost, and which of them a fusion takes in."""

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.people import changed, corpus
from zeroevidence.attack.attackers import find_attacker
from zeroevidence.attack.cues import CUES
from zeroevidence.auditing import AuditOptions, EmbeddingSets, EncodedSpeech, FineTuningHistory, LearningCurve, audit
from zeroevidence.auditing.encoded_speech import encode_further, pools_crops
from zeroevidence.auditing.step_attack import FoldResult, disclosure, fuse
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.about import TrainingEffort

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
    assert all(row.about.spent.epochs == 12 and row.about.spent.recordings == 200 for row in rows)
    plain = next(row for row in found.rows if row.labels["encoder"] == "embeddings" and row.about.role == "attack")
    assert plain.about.spent == TrainingEffort(20, 1, development_people=20, encoder_trained_on="original")
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
    informed, ignorant = find_attacker("semi-informed"), find_attacker("ignorant")
    assert all(one.serves(informed, "whitened") for one in found)
    assert [one.serves(ignorant, "whitened") for one in found] == [True] + [False] * len(CUES)


@pytest.mark.parametrize("gpu", [False, True])
def test_crops_are_pooled_with_full_effort_or_a_gpu(monkeypatch, gpu):
    monkeypatch.setattr("zeroevidence.auditing.encoded_speech.has_gpu", lambda: gpu)
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
    assert {row.about.threat.name for row in rows} == {"unprotected", "ignorant", "lazy-informed", "semi-informed"}
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
