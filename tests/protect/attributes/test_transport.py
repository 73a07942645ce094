"""Transport on Gaussian classes, where all is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from zeroevidence import Embeddings, d_ece
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import ClassMeans, Transport
from zeroevidence.protect.attributes.shared.discriminants import (
    _MIXTURES,
    _mixture_log_likelihoods,
    fit_gaussian_classes,
)
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import barycentre, shrinkage_share, shrunk, transport_map
from zeroevidence.protect.attributes.shared.nullspace import regression_directions
from zeroevidence.protect.tradeoff.quick_attackers import quick_attacks


def covariance(rng, d):
    root = rng.standard_normal((d, d))
    return root @ root.T / d + 0.5 * np.eye(d)


def gaussians(rng, n, d, spread):
    """Two classes with the same mean in half of the entries, and covariances whose sides differ by a factor."""
    y = np.repeat([0, 1], n // 2)
    sides = np.where(np.arange(d) % 2, spread, 1.0 / spread)
    x = rng.standard_normal((n, d)) * np.where(y[:, None], sides, 1.0)
    x[:, : d // 2] += 1.0 * y[:, None]
    log = lambda z, s, m: -0.5 * (((z - m) / s) ** 2).sum(axis=1) - np.log(s).sum()  # noqa: E731
    mean = np.where(np.arange(d) < d // 2, 1.0, 0.0)
    return x, y, log(x, sides, mean) - log(x, np.ones(d), np.zeros(d))


def embeddings(x, y):
    return Embeddings(x, None, [f"p{i}" for i in range(len(x))], {"class": np.where(y, "b", "a")})


def quadratic(attack, test):
    return quick_attacks(embeddings(*attack), embeddings(*test), "class", ["qda"])["qda"]


def test_the_map_between_two_gaussians():
    rng = np.random.default_rng(0)
    one, other = covariance(rng, 5), covariance(rng, 5)
    way = transport_map(one, other)
    np.testing.assert_allclose(way @ one @ way.T, other, atol=1e-10)
    np.testing.assert_allclose(way, way.T, atol=1e-12)
    assert np.linalg.eigvalsh(way).min() > 0.0  # the gradient of a convex function: the shortest way
    np.testing.assert_allclose(transport_map(one, one), np.eye(5), atol=1e-8)


def test_the_barycentre():
    sides = np.array([1.0, 2.0, 5.0]), np.array([3.0, 2.0, 1.0])
    found = barycentre(np.stack([np.diag(one**2) for one in sides]))
    np.testing.assert_allclose(found, np.diag(np.mean(sides, axis=0) ** 2), atol=1e-9)  # spreads, not variances
    rng = np.random.default_rng(1)
    three = np.stack([covariance(rng, 4) for _ in range(3)])
    middle = barycentre(three)
    np.testing.assert_allclose(np.mean([transport_map(middle, one) for one in three], axis=0), np.eye(4), atol=1e-6)


def test_the_barycentre_of_two_is_that_of_the_iteration():
    rng = np.random.default_rng(2)
    two = np.stack([covariance(rng, 5) for _ in range(2)])
    middle = barycentre(two)
    np.testing.assert_allclose(np.mean([transport_map(middle, one) for one in two], axis=0), np.eye(5), atol=1e-9)


def test_directions_of_least_squares_without_solving_anew():
    rng = np.random.default_rng(3)
    y = np.arange(300) % 3
    x = rng.standard_normal((300, 12)) + 2.0 * np.eye(12)[y]
    data = LabelledVectors(x, y[:, None], np.ones(300), np.arange(300))
    basis, centre = regression_directions(data, 5)
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-9)
    # the third pair of directions, from vectors without the first two pairs
    left = (x - centre) @ (np.eye(12) - basis[:, :4] @ basis[:, :4].T)
    means = np.stack([left[y == k].mean(axis=0) for k in range(3)])
    whole = shrunk((x - centre).T @ (x - centre) / 300, shrinkage_share(x - centre, "auto"))
    outside = np.eye(12) - basis[:, :4] @ basis[:, :4].T
    slopes = means @ np.linalg.pinv(outside @ whole @ outside, hermitian=True)
    assert np.linalg.matrix_rank(np.vstack([slopes, basis[:, 4]]), tol=1e-6) == np.linalg.matrix_rank(slopes, tol=1e-6)


def test_mixtures_of_covariances_share_an_eigendecomposition():
    rng = np.random.default_rng(4)
    x, y, _ = gaussians(rng, 200, 6, 1.5)
    data = LabelledVectors(x, y[:, None], np.ones(200), np.arange(200))
    quick = _mixture_log_likelihoods(data, x)
    for mixture, logs in zip(_MIXTURES, quick, strict=True):
        slow = fit_gaussian_classes(data, mixture).log_likelihoods(x)
        np.testing.assert_allclose(logs[:, 1] - logs[:, 0], slow[:, 1] - slow[:, 0], atol=1e-8)


def test_the_quadratic_attacker_finds_what_there_is():
    rng = np.random.default_rng(0)
    attack, test = gaussians(rng, 20_000, 4, 1.5), gaussians(rng, 20_000, 4, 1.5)
    x, y, truth = test
    known = d_ece(truth[y == 1], truth[y == 0])
    assert 0.1 < known < 0.5
    assert quadratic(attack[:2], (x, y)) == pytest.approx(known, abs=0.02)


def test_transport_leaves_a_quadratic_attacker_nothing_and_class_means_leave_nearly_all():
    rng = np.random.default_rng(1)
    fit, attack, test = (gaussians(rng, n, 12, 3.0)[:2] for n in (30_000, 1500, 1500))
    left = {}
    for name, protector in (("means", ClassMeans()), ("transport", Transport())):
        protector.fit(*fit)
        left[name] = quadratic(*((protector.transform(x), y) for x, y in (attack, test)))
        if name == "transport":
            nulls = [
                quadratic(
                    (protector.transform(attack[0]), rng.permutation(attack[1])),
                    (protector.transform(test[0]), rng.permutation(test[1])),
                )
                for _ in range(100)
            ]
    assert left["means"] > 0.6
    assert left["transport"] <= max(nulls)


def test_known_labels_are_used():
    rng = np.random.default_rng(2)
    x, y, _ = gaussians(rng, 4000, 4, 1.5)  # classes that overlap
    transport = Transport(shrinkage=0.0).fit(x, y)
    by_label = transport.transform(x, labels=y)
    covariances = [np.cov(by_label[y == one].T) for one in (0, 1)]
    np.testing.assert_allclose(*covariances, atol=0.02)
    np.testing.assert_allclose(*(by_label[y == one].mean(axis=0) for one in (0, 1)), atol=1e-9)
    assert np.abs(transport.transform(x) - by_label).max() > 0.1
    with pytest.raises(InputError, match="'7' is none of 0, 1"):
        transport.transform(x, labels=np.full(len(x), 7))
    with pytest.raises(InputError, match="labels: expected 4000"):
        transport.transform(x, labels=y[:5])


def test_what_is_kept_and_what_is_dropped():
    rng = np.random.default_rng(3)
    speakers = np.repeat(np.arange(20), 10)
    y = speakers % 2
    x = rng.standard_normal((20, 30))[speakers] + 0.3 * rng.standard_normal((200, 30)) + y[:, None]
    few = Transport(directions=3, components=5).fit(x, y, speakers=speakers)
    assert (few.removed_.shape, few.basis_.shape) == ((30, 3), (30, 5))
    np.testing.assert_allclose(few.basis_.T @ few.removed_, 0.0, atol=1e-9)
    assert np.linalg.matrix_rank(few.transform(x) - few.mean_, tol=1e-8) == 5
    noisy = Transport(directions=3, components=5, noise=1.0).fit(x, y, speakers=speakers)
    assert np.linalg.matrix_rank(noisy.transform(x) - noisy.mean_, tol=1e-8) == 5
    whole = Transport(directions=3, components=5, complement=1.0).fit(x, y, speakers=speakers)
    assert np.linalg.matrix_rank(whole.transform(x) - whole.mean_, tol=1e-8) == 26  # and one in which the means differ
    usual = Transport().fit(x, y, speakers=speakers)
    assert usual.removed_.shape[1] == 6  # 30 * 30 / (3 * (30 + 20))


def test_three_classes():
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(3), 1000)
    x = rng.standard_normal((3000, 6)) * np.array([1.0, 2.0, 4.0])[y][:, None] + y[:, None]
    transport = Transport(directions=0).fit(x, y)
    moved = transport.transform(x, labels=y)
    spreads = [moved[y == one].std() for one in range(3)]
    assert max(spreads) < 1.05 * min(spreads)
    assert transport.llr(x).shape == (3000, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"complement": 2.0}, "complement: expected a share"),
        ({"shrinkage": -1.0}, "shrinkage: expected a share"),
        ({"components": 0}, "components: expected at least 1"),
        ({"directions": -1}, "directions: expected at least 0"),
    ],
)
def test_bad_parameters_are_named(settings, words):
    x, y, _ = gaussians(np.random.default_rng(0), 40, 4, 2.0)
    with pytest.raises(UsageError, match=words):
        Transport(**settings).fit(x, y)


def test_many_people_do_not_bring_the_evidence_of_means_back():
    """Mixed by probabilities the ways can be undone, so the difference of means must be erased."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(8, 8))

    def people(count, name):
        kind = np.repeat(["a", "b"], count // 2)
        vectors = (rng.normal(size=(count, 8)) + 1.5 * np.outer(kind == "b", np.eye(8)[0])) @ mixing
        return Embeddings(vectors, None, [f"{name}{i}" for i in range(count)], {"kind": kind})

    fit, attack, test = people(5000, "fit"), people(1000, "attack"), people(1000, "test")
    protector = Transport().fit(fit.vectors, fit.attributes["kind"])
    sides = [
        Embeddings(protector.transform(one.vectors), one.ids, one.speakers, one.attributes) for one in (attack, test)
    ]
    assert max(quick_attacks(attack, test, "kind").values()) > 0.2
    assert max(quick_attacks(*sides, "kind").values()) < 0.02
