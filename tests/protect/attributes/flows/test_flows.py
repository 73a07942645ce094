"""Classes with covariances of their own: evidence in closed form, and none of it left at the end of the orbits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation import Options, evaluate
from zeroevidence.protect import Leace, ZeroEvidenceFlow, load_model, new_model, save_model
from zeroevidence.protect.attributes.flows import ClassGaussians
from zeroevidence.protect.attributes.flows.linear_map import LinearMap
from zeroevidence.protect.attributes.moments import LabelledVectors
from zeroevidence.protect.quick_attackers import quick_attacks

MEANS = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.5, 0.0]])
SPREADS = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 0.6, 1.5, 0.7, 1.0, 1.0]])
TRUTH = ClassGaussians(MEANS, SPREADS**2)


def drawn(seed, count):
    """Latent rows and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, count)
    return MEANS[y] + SPREADS[y] * rng.normal(size=(count, 6)), y


def people(seed, count):
    """The same behind a linear map, each vector of another person."""
    z, y = drawn(seed, count)
    mix = np.random.default_rng(5).normal(size=(6, 6)) + 2.0 * np.eye(6)
    names = [f"{seed}-{i}" for i in range(count)]
    return Embeddings(z @ mix + 3.0, None, names, {"kind": np.array(["a", "b"])[y]})


def learned(protector, attack, test):
    """D_ECE of each quick attacker after a protector."""
    sides = [
        Embeddings(protector.transform(one.vectors), one.ids, one.speakers, one.attributes) for one in (attack, test)
    ]
    return quick_attacks(*sides, "kind")


@pytest.fixture(scope="module")
def flow():
    pytest.importorskip("torch")
    data = people(1, 8000)
    return ZeroEvidenceFlow(covariances="classes", epochs=3).fit(data.vectors, data.attributes["kind"])


def test_evidence_vanishes_where_hand_computation_says():
    even = ClassGaussians(np.array([[-3.0, 0.0], [3.0, 0.0]]), np.array([[6.0, 1.0], [6.0, 1.0]]))
    z = np.random.default_rng(4).normal(size=(20, 2)) * 5.0
    np.testing.assert_allclose(even.llr(z), z[:, 0])  # equal variances: the published flow
    np.testing.assert_allclose(even.moved(z, 0.0), np.column_stack([np.zeros(20), z[:, 1]]), atol=1e-9)
    wide = ClassGaussians(np.zeros((2, 1)), np.array([[1.0], [4.0]]))
    where = np.sqrt(8.0 / 3.0 * np.log(2.0))
    np.testing.assert_allclose(wide.moved(np.array([[0.01], [-7.0]]), 0.0)[:, 0], [where, -where], rtol=1e-9)
    np.testing.assert_allclose(wide.mu, 0.25 * (0.25 + 4.0 - 2.0))
    np.testing.assert_allclose(wide.llr(wide.moved(np.array([[2.0]]), 3.0)), 3.0, atol=1e-9)


def test_evidence_is_the_ratio_of_densities():
    from scipy.stats import norm

    z, _ = drawn(0, 50)
    first, second = (norm(MEANS[k], SPREADS[k]).logpdf(z).sum(axis=1) for k in (0, 1))
    np.testing.assert_allclose(TRUTH.llr(z), second - first)
    both = drawn(2, 200_000)
    llr = TRUTH.llr(both[0])
    true = 0.5 * (llr[both[1] == 1].mean() - llr[both[1] == 0].mean())
    assert TRUTH.mu == pytest.approx(true, rel=0.02)


def test_orbits_lead_from_one_class_to_the_other():
    z, y = drawn(3, 100_000)
    moved = TRUTH.along(z[y == 0], np.ones(int((y == 0).sum())))
    np.testing.assert_allclose(moved.mean(axis=0), MEANS[1], atol=0.03)
    np.testing.assert_allclose(moved.std(axis=0), SPREADS[1], rtol=0.02)
    half = np.full(100, 0.5)
    np.testing.assert_allclose(TRUTH.along(TRUTH.along(z[:100], half), half), TRUTH.along(z[:100], 2.0 * half))


@slow
def test_nothing_is_left_to_any_attacker_of_known_classes():
    (attack, attack_y), (test, test_y) = drawn(5, 4000), drawn(6, 4000)

    def told(rows):
        sides = [
            Embeddings(x, None, [f"{name}{i}" for i in range(len(x))], {"kind": y.astype(str)})
            for name, x, y in zip("at", rows, (attack_y, test_y), strict=True)
        ]
        return max(quick_attacks(*sides, "kind").values())

    assert told((attack, test)) > 0.3
    assert told((TRUTH.moved(attack, 0.0), TRUTH.moved(test, 0.0))) < 0.005


def test_the_linear_map_alone_is_quadratic_discriminant_analysis():
    data = people(1, 8000)
    labels = (data.attributes["kind"] == "b").astype(int)[:, None]
    vectors = LabelledVectors(data.vectors, labels, np.ones(len(labels)), np.arange(len(labels)))
    linear_map, found = LinearMap.fit_spread(vectors, "lda", components=6, shrinkage=0.0)
    z, _ = drawn(1, 8000)
    told = found.llr(linear_map.forward(np.asarray(data.vectors)))
    assert np.corrcoef(told, TRUTH.llr(z))[0, 1] > 0.999
    assert found.mu == pytest.approx(TRUTH.mu, rel=0.05)
    assert (np.diff(found.coordinate_evidence()) <= 1e-12).all()
    np.testing.assert_allclose(found.variances.prod(axis=0), 1.0)
    np.testing.assert_allclose(found.means.sum(axis=0), 0.0, atol=1e-12)


@slow
def test_a_quadratic_attacker_finds_nothing_after_the_flow(flow):
    attack, test = people(2, 3000), people(3, 3000)
    assert quick_attacks(attack, test, "kind", ["qda"])["qda"] > 0.3
    means = Leace().fit(attack.vectors, attack.attributes["kind"])
    assert learned(means, attack, test)["qda"] > 0.08
    left = learned(flow, attack, test)
    rng = np.random.default_rng(0)
    random = evaluate(Scores(rng.normal(size=1500), rng.normal(size=1500)), options=Options(intervals=0, null=100))
    assert max(left.values()) <= random.metrics["d_ece"].null.quantile


def test_evidence_is_set_as_asked_also_by_a_saved_flow(flow, tmp_path):
    x = people(4, 200).vectors
    np.testing.assert_allclose(flow.llr(flow.transform(x)), 0.0, atol=1e-3)
    np.testing.assert_allclose(flow.llr(flow.set_evidence(x, 1.0)), 1.0, atol=1e-3)
    np.testing.assert_allclose(flow.set_evidence(x, flow.llr(x)), x, atol=1e-3)
    np.testing.assert_allclose(flow.from_latent(flow.to_latent(x)), x, atol=1e-4)
    assert flow.history_.mus[0] == pytest.approx(TRUTH.mu, rel=0.05)
    assert len(flow.history_.mus) == 4
    pytest.importorskip("safetensors")
    save_model(new_model(flow, "kind"), tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").protector.transform(x), flow.transform(x))
