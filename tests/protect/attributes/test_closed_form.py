"""Protectors in closed form against what is known of Gaussian classes, and LEACE beside the package of its authors."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.protect.attributes import classes
from zeroevidence import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import Leace, LinearNuller, Transport
from zeroevidence.protect.attributes.moments import (
    _MIXTURES,
    LabelledVectors,
    _mixture_log_likelihoods,
    barycentre,
    fit_gaussian_classes,
    regression_directions,
    shrinkage_share,
    shrunk,
    transport_map,
)
from zeroevidence.protect.quick_attackers import quick_attacks


@pytest.fixture
def data():
    return classes.gaussian(np.random.default_rng(0), 4000)


def test_llr_is_the_true_one(data):
    x, y, truth = data
    found = LinearNuller().fit(x, y).llr(x)
    assert np.corrcoef(found, truth)[0, 1] > 0.995
    np.testing.assert_allclose(found, truth, atol=1.0)


def test_equation_8_literally(data):
    """With the mean of the covariances of both classes; pooled over vectors, w is another direction."""
    x, y, _ = data
    scarce = (y == "a") | (np.arange(len(y)) % 4 == 0)
    x, y = x[scarce], y[scarce]
    x[y == "b", :4] *= 3.0
    nuller = LinearNuller().fit(x, y)
    means = np.stack([x[y == label].mean(axis=0) for label in ("a", "b")])
    inside = np.concatenate([x[y == label] - means[i] for i, label in enumerate(("a", "b"))])
    weights = np.concatenate([np.full((y == label).sum(), 0.5 / (y == label).sum()) for label in ("a", "b")])
    inverse = np.linalg.inv((inside * weights[:, None]).T @ inside)
    w = inverse @ (means[1] - means[0])
    constant = 0.5 * (means[1] @ inverse @ means[1] - means[0] @ inverse @ means[0])
    expected = x - np.outer(x @ w, w) / (w @ w) + constant / (w @ w) * w
    np.testing.assert_allclose(nuller.transform(x), expected, rtol=1e-9, atol=1e-9)
    pooled = np.linalg.solve(inside.T @ inside / len(inside), means[1] - means[0])
    assert pooled @ w < 0.999 * np.linalg.norm(pooled) * np.linalg.norm(w)


def test_nothing_is_left_of_the_evidence_and_the_rest_stays(data):
    x, y, _ = data
    nuller = LinearNuller().fit(x, y)
    protected = nuller.transform(x)
    np.testing.assert_allclose(nuller.llr(protected), 0.0, atol=1e-9)
    np.testing.assert_allclose(nuller.transform(protected), protected, atol=1e-9)
    swapped = LinearNuller().fit(x, np.where(y == "a", "b", "a"))
    np.testing.assert_allclose(nuller.llr(x), -swapped.llr(x), atol=1e-8)
    across = np.linalg.svd(protected - x)[1]
    assert across[1] < 1e-9 * across[0]  # vectors moved along one direction


def test_three_classes_meet_at_the_circumcentre():
    x, y = classes.three(np.random.default_rng(0), 3000)
    nuller = LinearNuller().fit(x, y)
    assert nuller.llr(x).shape == (3000, 3)
    np.testing.assert_allclose(nuller.llr(nuller.transform(x)), 0.0, atol=1e-8)


def test_a_talkative_speaker_counts_once():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 4))
    y = np.repeat(["a", "b"], 20)
    speakers = np.arange(40)
    again = np.concatenate([np.arange(40), np.zeros(30, dtype=int)])
    once = LinearNuller().fit(x, y, speakers=speakers)
    often = LinearNuller().fit(x[again], y[again], speakers=speakers[again])
    np.testing.assert_allclose(once.directions_, often.directions_)


def test_takes_data_frames(data):
    x, y, _ = data
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    plain = LinearNuller(shrinkage=0.25).fit(x, y).transform(x)
    frame = pandas.DataFrame(x, columns=[f"e{i}" for i in range(x.shape[1])])
    shown = LinearNuller(shrinkage=0.25).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(shown.columns) == list(frame.columns)
    np.testing.assert_allclose(shown.to_numpy(), plain)
    other = polars.DataFrame(x, schema=list(frame.columns))
    np.testing.assert_allclose(LinearNuller(shrinkage=0.25).fit(other, y).transform(other), plain)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda n, x, y: n.fit(x, np.full(len(x), "a")), ValueError, "two classes"),
        (lambda n, x, y: n.fit(x, y[:-1]), ValueError, "inconsistent"),
        (lambda n, x, y: n.fit(x, None), ValueError, "requires y"),
        (lambda n, x, y: n.fit(x, y, speakers=["s"]), InputError, "one per row"),
        (lambda n, x, y: n.fit(x * np.nan, y), ValueError, "NaN"),
        (lambda n, x, y: n.fit(x, y).transform(x[:, :3]), ValueError, "features"),
        (lambda n, x, y: n.set_params(shrinkage=2.0).fit(x, y), UsageError, "share from 0 to 1"),
        (lambda n, x, y: n.set_params(noise=-1.0).fit(x, y), UsageError, "noise: expected a number from 0 on"),
        (lambda n, x, y: n.set_params(noise=np.nan).fit(x, y), UsageError, "noise: expected a number from 0 on"),
    ],
)
def test_bad_input_is_named(data, call, error, words):
    x, y, _ = data
    with pytest.raises(error, match=words):
        call(LinearNuller(), x, y)


@pytest.fixture
def overlapping():
    return classes.gaussian(np.random.default_rng(0), 2000)[:2]


def means(x, y):
    return np.stack([x[y == label].mean(axis=0) for label in np.unique(y)])


def test_three_class_means_meet():
    x, y = classes.three(np.random.default_rng(0), 1500)
    protected = means(Leace().fit(x, y).transform(x), y)
    np.testing.assert_allclose(protected, np.broadcast_to(protected[0], protected.shape), atol=1e-9)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, "auto"])
def test_no_linear_classifier_learns_anything(overlapping, shrinkage):
    x, y = overlapping
    protected = Leace(shrinkage=shrinkage).fit(x, y).transform(x)
    truth = y == "b"
    # classes have equal weight, so the means are equal; with classes of one size the covariance is zero too
    np.testing.assert_allclose(*means(protected, y), atol=1e-9)
    model = LogisticRegression(C=1e6, class_weight="balanced").fit(protected, truth)
    weights = np.where(truth, 1 / truth.sum(), 1 / (~truth).sum())
    assert model.score(protected, truth, sample_weight=weights) == pytest.approx(0.5, abs=0.03)


def test_vectors_move_less_than_to_the_zero_of_the_discriminant(overlapping):
    x, y = overlapping
    inverse = np.linalg.inv(np.cov(x.T))

    def moved(protector):
        step = protector.fit(x, y).transform(x) - x
        return np.einsum("nd,de,ne->n", step, inverse, step).mean()

    assert moved(Leace(shrinkage=0.0)) < moved(LinearNuller())


@pytest.mark.parametrize("count", [2, 3])
def test_as_its_authors_compute_it(count):
    torch = pytest.importorskip("torch")
    concept_erasure = pytest.importorskip("concept_erasure")
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(count), 300)
    x = rng.standard_normal((len(y), 12)) @ rng.standard_normal((12, 12)) + rng.standard_normal((count, 12))[y]
    ours = Leace(shrinkage=0.0).fit(x, y).transform(x)
    wanted = torch.nn.functional.one_hot(torch.as_tensor(y)).double()
    fitter = concept_erasure.LeaceFitter(12, count, shrinkage=False, dtype=torch.float64)
    theirs = fitter.update(torch.as_tensor(x), wanted).eraser(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


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
    by_label = transport._moved(x, 1e3 * np.eye(count)[y])
    for k in range(1, count):
        np.testing.assert_allclose(np.cov(by_label[y == 0].T), np.cov(by_label[y == k].T), atol=0.05)
        np.testing.assert_allclose(*(by_label[y == one].mean(axis=0) for one in (0, k)), atol=1e-9)
    assert np.abs(transport.transform(x) - by_label).max() > 0.1
    assert transport.llr(x).shape == ((6000,) if count == 2 else (6000, 3))


def test_what_is_kept_and_what_is_dropped():
    rng = np.random.default_rng(3)
    speakers = np.repeat(np.arange(20), 10)
    y = speakers % 2
    x = rng.standard_normal((20, 30))[speakers] + 0.3 * rng.standard_normal((200, 30)) + y[:, None]
    for settings, rank in (({}, 5), ({"noise": 1.0}, 5)):
        protector = Transport(directions=3, components=5, **settings).fit(x, y, speakers=speakers)
        assert (protector.removed_.shape, protector.basis_.shape) == ((30, 3), (30, 5))
        np.testing.assert_allclose(protector.basis_.T @ protector.removed_, 0.0, atol=1e-9)
        assert np.linalg.matrix_rank(protector.transform(x) - protector.mean_, tol=1e-8) == rank
    assert Transport().fit(x, y, speakers=speakers).removed_.shape[1] == 2  # 30 * 30 / (8 * (30 + 20))
    assert [Transport().sizes(people, 192)["components"] for people in (5, 20, 35, 71)] == [16, 40, 70, 70]


@pytest.mark.parametrize("settings", [{"shrinkage": -1.0}, {"components": 0}, {"directions": -1}])
def test_bad_parameters_are_named(settings):
    x, y, _ = gaussians(np.random.default_rng(0), 40, 4, 2.0)
    with pytest.raises(UsageError, match=f"{next(iter(settings))}: expected"):
        Transport(**settings).fit(x, y)
