"""Transport on Gaussian classes, where all is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from zeroevidence import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import Leace, Transport
from zeroevidence.protect.attributes.discriminants import (
    _MIXTURES,
    _mixture_log_likelihoods,
    classifier_directions,
    fit_gaussian_classes,
    regression_directions,
)
from zeroevidence.protect.attributes.moments import LabelledVectors, barycentre, shrinkage_share, shrunk, transport_map
from zeroevidence.protect.quick_attackers import quick_attacks


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


def labelled(x, y):
    return LabelledVectors(x, y[:, None], np.ones(len(x)), np.arange(len(x)))


def attacked(attack, test, names=("qda",)):
    """D_ECE of the strongest quick attacker."""
    sides = [Embeddings(x, None, [f"p{i}" for i in range(len(x))], {"y": y.astype(str)}) for x, y in (attack, test)]
    return max(quick_attacks(*sides, "y", names).values())


def test_the_map_between_two_gaussians():
    rng = np.random.default_rng(0)
    source, target = covariance(rng, 5), covariance(rng, 5)
    matrix = transport_map(source, target)
    np.testing.assert_allclose(matrix @ source @ matrix.T, target, atol=1e-10)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > 0.0  # the gradient of a convex function: optimal
    np.testing.assert_allclose(transport_map(source, source), np.eye(5), atol=1e-8)


def test_the_barycentre():
    sides = np.array([1.0, 2.0, 5.0]), np.array([3.0, 2.0, 1.0])
    centre = barycentre(np.stack([np.diag(side**2) for side in sides]))
    np.testing.assert_allclose(centre, np.diag(np.mean(sides, axis=0) ** 2), atol=1e-9)  # spreads, not variances
    rng = np.random.default_rng(1)
    for count, tolerance in ((2, 1e-9), (3, 1e-6)):  # that of two in closed form
        several = np.stack([covariance(rng, 4) for _ in range(count)])
        maps = [transport_map(barycentre(several), one) for one in several]
        np.testing.assert_allclose(np.mean(maps, axis=0), np.eye(4), atol=tolerance)


def test_directions_of_classifiers():
    """Each is that of logistic regression on what the ones before have left."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    x = rng.standard_normal((600, 10)) + np.outer(y, np.r_[2.0, 1.0, 1.0, np.zeros(7)])
    basis, centre = classifier_directions(labelled(x, y), 4)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-9)
    rows = x - centre
    for count in range(4):
        left = rows - (rows @ basis[:, :count]) @ basis[:, :count].T
        slope = LogisticRegression(C=1e6, max_iter=1000).fit(left, y).coef_[0]
        slope -= basis[:, :count] @ (basis[:, :count].T @ slope)
        assert abs(slope @ basis[:, count]) / np.linalg.norm(slope) > 0.99
    assert classifier_directions(labelled(x, y), 50)[0].shape[1] <= 10


def test_directions_of_least_squares_without_solving_anew():
    rng = np.random.default_rng(3)
    y = np.arange(300) % 3
    x = rng.standard_normal((300, 12)) + 2.0 * np.eye(12)[y]
    basis, centre = regression_directions(labelled(x, y), 5)
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-9)
    # the third pair of directions, from vectors without the first two pairs
    outside = np.eye(12) - basis[:, :4] @ basis[:, :4].T
    means = np.stack([((x - centre) @ outside)[y == k].mean(axis=0) for k in range(3)])
    whole = shrunk((x - centre).T @ (x - centre) / 300, shrinkage_share(x - centre, "auto"))
    slopes = means @ np.linalg.pinv(outside @ whole @ outside, hermitian=True)
    assert np.linalg.matrix_rank(np.vstack([slopes, basis[:, 4]]), tol=1e-6) == np.linalg.matrix_rank(slopes, tol=1e-6)


def test_mixtures_of_covariances_share_an_eigendecomposition():
    x, y, _ = gaussians(np.random.default_rng(4), 200, 6, 1.5)
    data = labelled(x, y)
    for mixture, logs in zip(_MIXTURES, _mixture_log_likelihoods(data, x), strict=True):
        slow = fit_gaussian_classes(data, mixture).log_likelihoods(x)
        np.testing.assert_allclose(logs[:, 1] - logs[:, 0], slow[:, 1] - slow[:, 0], atol=1e-8)


def test_transport_leaves_a_quadratic_attacker_nothing_and_equal_means_leave_nearly_all():
    rng = np.random.default_rng(1)
    fit, attack, test = (gaussians(rng, n, 12, 3.0)[:2] for n in (30_000, 1500, 1500))
    left = {}
    for protector in (Leace().fit(*fit), Transport().fit(*fit)):
        sides = [(protector.transform(x), y) for x, y in (attack, test)]
        left[protector.kind] = attacked(*sides)
    assert left["leace"] > 0.6
    nulls = [attacked(*((x, rng.permutation(y)) for x, y in sides)) for _ in range(100)]
    assert left["transport"] <= max(nulls)


def test_many_people_do_not_bring_the_evidence_of_means_back():
    """Mixed by probabilities the maps can be inverted, so the difference of means must be erased."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(8, 8))

    def people(count):
        y = np.repeat([0, 1], count // 2)
        return (rng.normal(size=(count, 8)) + 1.5 * np.outer(y, np.eye(8)[0])) @ mixing, y

    fit, attack, test = people(5000), people(1000), people(1000)
    protector = Transport().fit(*fit)
    attackers = ("logistic", "qda", "kernel")
    assert attacked(attack, test, attackers) > 0.2
    assert attacked(*((protector.transform(x), y) for x, y in (attack, test)), attackers) < 0.02


@pytest.mark.parametrize("count", [2, 3])
def test_known_labels_are_used(count):
    rng = np.random.default_rng(2)
    y = np.arange(6000) % count
    x = rng.standard_normal((6000, 4)) * np.array([1.0, 1.5, 3.0])[y][:, None] + y[:, None]
    transport = Transport(shrinkage=0.0, directions=0).fit(x, y)
    by_label = transport.transform(x, labels=y)
    for k in range(1, count):
        np.testing.assert_allclose(np.cov(by_label[y == 0].T), np.cov(by_label[y == k].T), atol=0.05)
        np.testing.assert_allclose(*(by_label[y == one].mean(axis=0) for one in (0, k)), atol=1e-9)
    assert np.abs(transport.transform(x) - by_label).max() > 0.1
    assert transport.llr(x).shape == ((6000,) if count == 2 else (6000, 3))
    for labels, words in ((np.full(6000, 7), "'7' is none of 0, 1"), (y[:5], "labels: expected 6000")):
        with pytest.raises(InputError, match=words):
            transport.transform(x, labels=labels)


def test_what_is_kept_and_what_is_dropped():
    rng = np.random.default_rng(3)
    speakers = np.repeat(np.arange(20), 10)
    y = speakers % 2
    x = rng.standard_normal((20, 30))[speakers] + 0.3 * rng.standard_normal((200, 30)) + y[:, None]
    for settings, rank in (({}, 5), ({"noise": 1.0}, 5), ({"complement": 1.0}, 26)):  # one in which the means differ
        protector = Transport(directions=3, components=5, **settings).fit(x, y, speakers=speakers)
        assert (protector.removed_.shape, protector.basis_.shape) == ((30, 3), (30, 5))
        np.testing.assert_allclose(protector.basis_.T @ protector.removed_, 0.0, atol=1e-9)
        assert np.linalg.matrix_rank(protector.transform(x) - protector.mean_, tol=1e-8) == rank
    assert Transport().fit(x, y, speakers=speakers).removed_.shape[1] == 6  # 30 * 30 / (3 * (30 + 20))


@pytest.mark.parametrize("settings", [{"complement": 2.0}, {"shrinkage": -1.0}, {"components": 0}, {"directions": -1}])
def test_bad_parameters_are_named(settings):
    x, y, _ = gaussians(np.random.default_rng(0), 40, 4, 2.0)
    with pytest.raises(UsageError, match=f"{next(iter(settings))}: expected"):
        Transport(**settings).fit(x, y)
