"""What attribute protectors share: noise, refusals, copies, and scikit-learn's checks of an estimator."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.protect.attributes import classes
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import Leace, make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS


@pytest.fixture(scope="module")
def data():
    """Forty people, whose vectors differ much in the first entry and little in the others."""
    rng = np.random.default_rng(0)
    speakers = np.repeat([f"p{i:02d}" for i in range(40)], 20)
    y = np.repeat(np.arange(40) % 2, 20)
    inside = rng.standard_normal((800, 5)) * [3.0, 1.0, 1.0, 1.0, 0.5]
    return np.repeat(4.0 * rng.standard_normal((40, 5)), 20, axis=0) + inside + 2.0 * y[:, None], y, speakers


def noise_of(protector, x, **how):
    quiet = protector.get_params()["noise"]
    noisy = protector.transform(x, **how)
    still = protector.set_params(noise=0.0).transform(x, **how)
    protector.set_params(noise=quiet)
    return noisy - still


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_every_protector_takes_noise_of_any_level_after_it_was_fitted(name, data):
    x, y, speakers = data
    protector = made(name, noise_seed=3).fit(x, y, speakers=speakers)
    still = protector.transform(x)
    one = noise_of(protector.set_params(noise=1.0), x)
    two = noise_of(protector.set_params(noise=2.0), x)
    np.testing.assert_allclose(two, 2.0 * one, atol=1e-8)
    assert one.std() > 0.1
    np.testing.assert_array_equal(protector.set_params(noise=0.0).transform(x), still)
    fresh = protector.set_params(noise=1.0, noise_seed=None)
    assert (fresh.transform(x) != fresh.transform(x)).any()


WITHIN = np.array([3.0, 1.0, 1.0, 1.0, 0.5])


def test_noise_is_measured_by_how_much_vectors_vary(data):
    x, y, speakers = data
    protector = Leace(noise=0.5, noise_seed=0).fit(x, y, speakers=speakers)
    noise = noise_of(protector, np.repeat(x[:1], 20_000, axis=0))
    np.testing.assert_allclose(noise.std(axis=0), WITHIN / 2.0, rtol=0.08)


TRAINED = [name for name in ATTRIBUTE_PROTECTORS if "learning_rate" in ATTRIBUTE_PROTECTORS.find(name).parameters]
FEW, EACH = np.repeat(np.arange(20), 15), np.arange(300)  # speakers: without and with early stopping of the flow


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_people_are_protected_as_a_whole(name, data):
    x, y, speakers = data
    protector = made(name).fit(x, y, speakers=speakers)
    people = protector.transform(x, speakers=speakers)
    means = x.reshape(40, 20, 5).mean(axis=1)
    of_means = protector.transform(means, speakers=speakers[::20])  # of people with one vector, the mean itself
    if name != "transport":  # whose vectors together say which class is theirs
        np.testing.assert_allclose(people.reshape(40, 20, 5).mean(axis=1), of_means, atol=1e-5)
    order = np.random.default_rng(1).permutation(len(x))
    np.testing.assert_allclose(protector.transform(x[order], speakers=speakers[order]), people[order], atol=1e-5)
    protector.set_params(noise=2.0, noise_seed=7)
    noise = noise_of(protector, x, speakers=speakers).reshape(40, 20, 5)
    within, between = noise.var(axis=1, ddof=1).mean(axis=0), noise.mean(axis=1).var(axis=0, ddof=1)
    # noise of a vector averages out over 20 of them, that of a person does not
    np.testing.assert_allclose(between - within / 20, within, rtol=0.9)
    alone = noise_of(protector, x).reshape(40, 20, 5)
    assert (alone.mean(axis=1).var(axis=0) < 0.2 * between).all()
    with pytest.raises(InputError, match="speakers: expected 800, one per row"):
        protector.transform(x, speakers=speakers[:3])


def test_means_of_people_have_maps_of_their_own(data):
    x, y, speakers = data
    for protector in (Leace(), make_protector("linear")):
        protector.fit(x, y, speakers=speakers)
        means = x.reshape(40, 20, 5).mean(axis=1)
        moved = protector.transform(means, speakers=speakers[::20])
        gaps = [rows[y[::20] == 1].mean(axis=0) - rows[y[::20] == 0].mean(axis=0) for rows in (means, moved)]
        if protector.kind == "leace":
            np.testing.assert_allclose(gaps[1], 0.0, atol=1e-9)
        else:
            w = np.linalg.inv(sum(np.cov(means[y[::20] == k].T, ddof=0) for k in (0, 1)) / 2.0) @ gaps[0]
            middle = sum(means[y[::20] == k].mean(axis=0) for k in (0, 1)) / 2.0
            np.testing.assert_allclose((moved - middle) @ w, 0.0, atol=1e-8)  # eq. 8 of the means
        assert np.abs(protector.transform(means) - moved).max() > 1e-3  # by the map of vectors


@pytest.fixture(scope="module")
def two_classes():
    return classes.gaussian(np.random.default_rng(0), 300)[:2]


def made(name, **parameters):
    """A protector that is quick to train; without torch there may be none."""
    if ATTRIBUTE_PROTECTORS.find(name).extra is not None:
        pytest.importorskip("torch")
        parameters = {"epochs": 3, **parameters}
    return make_protector(name, parameters)


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_one_class_is_not_enough(name, two_classes):
    x, _ = two_classes
    with pytest.raises(InputError, match="y: every label is 'a'; expected at least two classes"):
        made(name).fit(x, np.full(len(x), "a"))


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize(
    ("rate", "speakers", "words"),
    [
        (1e20, FEW, r".*; lower learning_rate \(it is 1e\+20"),
        (1e20, EACH, r".*; lower learning_rate \(it is 1e\+20"),
        (1.0, FEW, r".*(no longer (be inverted|reconstructs vectors)|is not finite)"),  # as the processor rounds
    ],
)
def test_training_that_diverges_is_an_error(name, rate, speakers, words, two_classes):
    x, y = two_classes
    with pytest.raises(InputError, match=f"training diverged: {words}"):
        made(name, learning_rate=rate, epochs=10).fit(x, y, speakers=speakers)


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_vectors_out_of_all_proportion_are_refused_and_not_made_nan(name, two_classes):
    x, y = two_classes
    with pytest.raises(InputError, match=r"entries as large as 1\.\d+e\+201 cannot be squared; scale"):
        made(name).fit(x / np.abs(x).max() * 1.5e201, y)
    protector = made(name).fit(x, y)
    far = x[:3].copy()
    far[1] = 1.7e308 * np.sign(make_protector("linear").fit(x, y).directions_[:, 0])
    with pytest.raises(InputError, match=r"[13] of 3 protected vectors would not be finite: .*1\.7e\+308.* is too far"):
        protector.transform(far)
    assert np.isfinite(protector.transform(far[:1])).all()
    if name not in ("adversarial", "leace"):  # whose scores are small enough to bear it
        with pytest.raises(InputError, match="1 of 3 log-likelihood ratios would not be finite"):
            protector.llr(far)


def test_what_a_flow_cannot_learn_from(two_classes):
    x, y = two_classes
    with pytest.raises(InputError, match="keep: every label is '3'; expected at least two classes"):
        made("flow").fit(x, y, keep=np.full(len(x), 3))
    with pytest.raises(InputError, match=r"vectors with evidence as large as 1e\+60 would not be finite"):
        made("flow").fit(x, y).set_evidence(x, 1e60)


WAYS = {"pickle": lambda protector: pickle.loads(pickle.dumps(protector)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("copied", WAYS.values(), ids=WAYS.keys())
def test_a_copy_gives_the_same_vectors(fitted, copied):
    protector, x = fitted
    before = protector.transform(x)
    other = copied(protector)
    assert set(vars(other)) == set(vars(protector))
    np.testing.assert_array_equal(other.transform(x), before)
    np.testing.assert_array_equal(other.llr(x), protector.llr(x))
    np.testing.assert_array_equal(other.classes_, protector.classes_)


def test_a_copy_computes_on_the_device_of_its_own_machine():
    torch = pytest.importorskip("torch")
    x, y, _ = classes.gaussian(np.random.default_rng(1), 60)
    flow = make_protector("flow", epochs=1).fit(x, y)
    assert pickle.loads(pickle.dumps(flow)).device_ == flow.device_
    if not torch.cuda.is_available():
        flow.device = "cuda"
        with pytest.raises(UsageError, match="device: 'cuda' cannot be used on this machine"):
            copy.deepcopy(flow)
    for name in ("flow", "adversarial"):
        with pytest.raises(UsageError, match="device: 'abacus' cannot be used"):
            make_protector(name, device="abacus").fit(x, y)


_TOO_FLAT = "three classes in two dimensions leave no room for a residual"
_UNFIT = ("check_estimators_overwrite_params", "check_estimators_fit_returns_self", "check_readonly_memmap_input")
_EXPECTED = {"flow": dict.fromkeys(_UNFIT, _TOO_FLAT)}


def quick(name):
    return make_protector(name, {"epochs": 1} if "epochs" in ATTRIBUTE_PROTECTORS.find(name).parameters else {})


@parametrize_with_checks(
    [quick(name) for name in ATTRIBUTE_PROTECTORS],
    expected_failed_checks=lambda protector: _EXPECTED.get(protector.kind, {}),
)
@pytest.mark.filterwarnings("ignore")
def test_is_an_estimator(estimator, check):
    if ATTRIBUTE_PROTECTORS.find(estimator.kind).extra is not None:
        pytest.importorskip("torch")
    check(estimator)
