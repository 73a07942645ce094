"""What attribute protectors share: noise, rotations, refusals, copies, and scikit-learn's checks of an estimator."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.protect.attributes import classes
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import Leace, make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.attributes.protector import person_rotation
from zeroevidence.protect.quick_attackers import quick_attacks
from zeroevidence.protect.strengths import set_strength


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
    still = protector.set_params(noise=0.0).transform(x)
    protector.set_params(noise=quiet)
    return noisy - still


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_every_protector_takes_noise_of_any_level_after_it_was_fitted(name, data):
    if ATTRIBUTE_PROTECTORS.find(name).extra is not None:
        pytest.importorskip("torch")
    x, y, speakers = data
    quick = {"epochs": 1} if "epochs" in ATTRIBUTE_PROTECTORS.find(name).parameters else {}
    protector = make_protector(name, quick, noise_seed=3).fit(x, y, speakers=speakers)
    still = protector.transform(x)
    one = noise_of(protector.set_params(noise=1.0), x)
    two = noise_of(protector.set_params(noise=2.0), x)
    np.testing.assert_allclose(two, 2.0 * one, atol=1e-8)
    assert one.std() > 0.1
    np.testing.assert_array_equal(protector.set_params(noise=0.0).transform(x), still)
    fresh = protector.set_params(noise=1.0, noise_seed=None)
    assert (fresh.transform(x) != fresh.transform(x)).any()


WITHIN = np.array([3.0, 1.0, 1.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("shape", "spreads"),
    [("within", WITHIN), ("isotropic", np.full(5, np.sqrt(np.mean(WITHIN**2)))), ("total", None)],
)
def test_noise_is_measured_by_how_much_vectors_vary(shape, spreads, data):
    x, y, speakers = data
    protector = Leace(noise=0.5, noise_shape=shape, noise_seed=0).fit(x, y, speakers=speakers)
    spreads = x.std(axis=0) if spreads is None else spreads
    noise = noise_of(protector, np.repeat(x[:1], 20_000, axis=0))
    np.testing.assert_allclose(noise.std(axis=0), spreads / 2.0, rtol=0.08)


@pytest.fixture(scope="module")
def protector(data):
    x, y, speakers = data
    return Leace(noise_seed=3).fit(x, y, speakers=speakers)


def test_a_key_rotates_the_mean_direction_of_each_person(data, protector):
    x, _, speakers = data
    keyed, again, other = (
        protector.transform(x, speakers=speakers, rotation_key=key) for key in ("secret", b"secret", "another")
    )
    np.testing.assert_array_equal(keyed, again)
    np.testing.assert_allclose(np.linalg.norm(keyed, axis=1), 1.0)
    assert np.abs(keyed - other).max(axis=1).min() > 1e-3
    np.testing.assert_array_equal(keyed, np.repeat(keyed[::20], 20, axis=0))  # many vectors are no more than one
    claims = protector.transform(x, speakers=speakers, rotation_key="secret", claims=True)
    means = claims.reshape(40, 20, -1).sum(axis=1)
    np.testing.assert_allclose(means / np.linalg.norm(means, axis=1, keepdims=True), keyed[::20])
    with pytest.raises(InputError, match="needs to know the speakers"):
        protector.transform(x, rotation_key="secret")
    for method in (protector.transform, protector.rotate_back):
        with pytest.raises(InputError, match="speakers: expected 800"):
            method(x, speakers=speakers[:3], rotation_key="secret")
        with pytest.raises(UsageError, match="not empty"):
            method(x, speakers=speakers, rotation_key="")


def test_claims_to_be_one_person_keep_their_angles(data, protector):
    x, _, speakers = data
    true, claimed = (
        protector.transform(x, speakers=names, rotation_key="secret", claims=True)
        for names in (speakers, np.full(800, "p02"))
    )
    np.testing.assert_allclose(claimed[40:60], true[40:60])  # a rotation depends on nobody else
    np.testing.assert_allclose((true @ true.T)[:20, :20], (claimed @ claimed.T)[:20, :20], atol=1e-9)
    assert np.abs(true @ true.T - claimed @ claimed.T)[:20, 40:60].max() > 0.1


def test_the_key_rotates_back_but_for_lengths(data, protector):
    x, _, speakers = data
    protector = set_strength(protector, 0.5)
    plain = protector.transform(x) - protector.rotation_centre_
    key = {"speakers": speakers, "rotation_key": "secret"}
    keyed = protector.transform(x, **key, claims=True)
    back = protector.rotate_back(keyed, **key) - protector.rotation_centre_
    np.testing.assert_allclose((back * plain).sum(axis=1), np.linalg.norm(back, axis=1) * np.linalg.norm(plain, axis=1))
    wrong = protector.rotate_back(keyed, speakers=speakers, rotation_key="another") - protector.rotation_centre_
    assert abs(np.corrcoef(wrong[:, 0], plain[:, 0])[0, 1]) < 0.5


def test_rotations_are_orthogonal_and_uniform():
    """Entries of uniform rotations have the mean 0, the variance 1/d and the fourth moment 3/(d (d + 2)).

    The first rows of two people have nothing in common.
    """
    rotations = np.stack([person_rotation(f"p{n}", 4, "secret") for n in range(3000)])
    np.testing.assert_allclose(
        rotations @ rotations.transpose(0, 2, 1), np.broadcast_to(np.eye(4), (3000, 4, 4)), atol=1e-12
    )
    assert np.abs(rotations.mean(axis=0)).max() < 2.0 / np.sqrt(3000)
    np.testing.assert_allclose((rotations**2).mean(axis=0), 0.25, atol=0.025)
    np.testing.assert_allclose((rotations**4).mean(), 3.0 / 24.0, rtol=0.03)
    assert np.linalg.det(rotations).mean() == pytest.approx(0.0, abs=0.08)


def test_without_the_key_a_vector_tells_nothing():
    """A protector of something else leaves the sex, which nobody could mistake, until a key rotates the vectors."""
    rng = np.random.default_rng(0)
    sex, other = np.arange(600) % 2, rng.integers(0, 2, 600)
    x = rng.normal(size=(600, 4)) + 5.0 * sex[:, None]
    names = np.array([f"p{n}" for n in range(600)])
    protector = Leace().fit(x, other)
    disclosed = []
    for key in (None, "secret"):
        moved = protector.transform(x, speakers=names, rotation_key=key)
        data = Embeddings(moved, None, names, {"sex": sex.astype(str)})
        halves = (data.take(np.arange(600) // 300 == half) for half in (0, 1))
        disclosed.append(max(quick_attacks(*halves, "sex").values()))
    assert disclosed[0] > 0.6
    assert disclosed[1] < 0.03


TRAINED = [name for name in ATTRIBUTE_PROTECTORS if "learning_rate" in ATTRIBUTE_PROTECTORS.find(name).parameters]
FEW, EACH = np.repeat(np.arange(20), 15), np.arange(300)  # speakers: without and with early stopping of the flow


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
_EXPECTED = {
    "flow": dict.fromkeys(
        ("check_estimators_overwrite_params", "check_estimators_fit_returns_self", "check_readonly_memmap_input"),
        _TOO_FLAT,
    )
}


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
