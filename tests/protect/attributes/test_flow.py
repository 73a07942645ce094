import numpy as np
import pytest
from sklearn.base import clone

from tests.effort import slow
from tests.protect.attributes import classes
from tests.protect.people import voices
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options, evaluate
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.measure.pairs.verification import cllr, cllr_min
from zeroevidence.protect import AttackOptions, LinearNuller, Roles, ZeroEvidenceFlow, assess
from zeroevidence.protect.assessment.class_attacks import attribute_scores
from zeroevidence.protect.attributes.flows import LatentClasses, LinearMap, simplex
from zeroevidence.protect.attributes.moments import LabelledVectors

torch = pytest.importorskip("torch")


def attacked(train, train_y, test, test_y, label):
    """D_ECE of a fresh perceptron that was trained on protected vectors, with its null."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train)
    network = MLPClassifier((64, 64), max_iter=60, random_state=0, early_stopping=True)
    network.fit(scaler.transform(train), train_y == label)
    scores = np.log(np.maximum(network.predict_proba(scaler.transform(test)), 1e-300))
    names = np.arange(len(test)).astype(str)
    told = attribute_scores(scores[:, 1] - scores[:, 0], test_y == label, names, names)
    return evaluate(told, options=Options(intervals=0, null=100)).metrics["d_ece"]


@pytest.fixture(scope="module")
def gaussian():
    rng = np.random.default_rng(1)
    train, test = classes.gaussian(rng, 6000), classes.gaussian(rng, 4000)
    flow = ZeroEvidenceFlow(epochs=20).fit(train[0], train[1])
    return flow, train, test


def check_evidence(flow, x, y, truth):
    """The evidence that a flow sees is the true one, and calibrated."""
    llr = flow.llr(x)
    assert np.corrcoef(llr, truth)[0, 1] > 0.99
    target, other = llr[y == "b"], llr[y == "a"]
    assert cllr(target, other) - cllr_min(target, other) < 0.02
    assert flow.inversion_error_ < 1e-4
    np.testing.assert_allclose(flow.llr(flow.transform(x)), 0.0, atol=1e-3)


def test_protected_vectors_tell_a_fresh_attacker_nothing(gaussian):
    flow, (x, y, _), (test, test_y, truth) = gaussian
    check_evidence(flow, test, test_y, truth)
    assert attacked(x, y, test, test_y, "b").value > 0.2
    after = attacked(flow.transform(x), y, flow.transform(test), test_y, "b")
    assert after.value <= after.null.quantile


def test_evidence_is_set_as_asked(gaussian):
    flow, _, (x, _, _) = gaussian
    np.testing.assert_allclose(flow.llr(flow.set_evidence(x, 1.5)), 1.5, atol=1e-3)
    wanted = np.linspace(-3.0, 3.0, len(x))
    np.testing.assert_allclose(flow.llr(flow.set_evidence(x, wanted)), wanted, atol=1e-3)
    np.testing.assert_allclose(flow.set_evidence(x, flow.llr(x)), x, atol=1e-3)
    latent = flow.to_latent(x)
    assert (np.abs(flow.from_latent(latent) - x) / x.std(axis=0)).max() < 1e-4
    np.testing.assert_allclose(latent[:, 0], flow.llr(x), atol=1e-9)
    np.testing.assert_allclose(flow.to_latent(flow.transform(x))[:, 1:], latent[:, 1:], atol=1e-3)


@slow
def test_a_bent_boundary_is_followed_where_a_plane_fails():
    rng = np.random.default_rng(2)
    (x, y), (test, test_y) = classes.curved(rng, 4000), classes.curved(rng, 4000)
    plane = LinearNuller().fit(x, y)
    assert attacked(plane.transform(x), y, plane.transform(test), test_y, "b").value > 0.2
    flow = ZeroEvidenceFlow(epochs=60).fit(x, y)
    assert attacked(flow.transform(x), y, flow.transform(test), test_y, "b").value < 0.05


@slow
def test_three_classes():
    rng = np.random.default_rng(3)
    (x, y), (test, test_y) = classes.three(rng, 6000), classes.three(rng, 4000)
    flow = ZeroEvidenceFlow(epochs=30).fit(x, y)
    assert flow.llr(test).shape == (4000, 3)
    protected, test_protected = flow.transform(x), flow.transform(test)
    np.testing.assert_allclose(flow.llr(test_protected), 0.0, atol=1e-3)
    for label in "xyz":
        assert attacked(x, y, test, test_y, label).value > 0.2
        left = attacked(protected, y, test_protected, test_y, label)
        assert left.value <= left.null.quantile, label
    wanted = np.array([1.0, 0.0, -2.0])
    reached = flow.evidence_[0].log_likelihoods(flow.to_latent(flow.set_evidence(test[:50], wanted))[:, :2])
    np.testing.assert_allclose(reached - reached[:, 1:2], np.tile(wanted, (50, 1)), atol=1e-3)


@slow
def test_a_second_attribute_is_kept():
    rng = np.random.default_rng(4)
    n = 6000
    hide, keep = rng.integers(0, 2, n), rng.integers(0, 2, n)
    x = rng.standard_normal((n, 6))
    x[:, 0] += 1.5 * (2 * hide - 1)
    x[:, 1] += 1.5 * (2 * keep - 1) + 0.5 * (2 * hide - 1)
    flow = ZeroEvidenceFlow(epochs=15).fit(x[:4000], hide[:4000], keep=keep[:4000])
    train, test = flow.transform(x[:4000]), flow.transform(x[4000:])
    hidden = attacked(train, hide[:4000], test, hide[4000:], 1)
    assert hidden.value <= hidden.null.quantile
    assert attacked(train, keep[:4000], test, keep[4000:], 1).value > 0.3


def test_few_vectors_leave_the_complement_alone():
    x, y = classes.gaussian(np.random.default_rng(5), 200, d=40)[0], np.repeat(["a", "b"], 100)
    flow = ZeroEvidenceFlow(epochs=3, components=8).fit(x, y, speakers=np.repeat(np.arange(20), 10))
    assert flow.linear_map_.width == 8
    latent, moved = flow.to_latent(x), flow.to_latent(flow.transform(x))
    np.testing.assert_allclose(moved[:, 8:], latent[:, 8:], atol=1e-9)
    np.testing.assert_allclose(flow.from_latent(latent), x, atol=1e-4)
    assert ZeroEvidenceFlow(epochs=1).fit(np.tile(x, (4, 2)), np.tile(y, 4)).linear_map_.width <= 64


def test_without_training_it_is_linear_discriminant_analysis():
    x, y, truth = classes.gaussian(np.random.default_rng(6), 3000)
    labels = (y == "b").astype(int)[:, None]
    vectors = LabelledVectors(x, labels, np.ones(len(x)), np.arange(len(x)))
    linear_map, (evidence,) = LinearMap.fit(vectors, "lda", components=8, shrinkage=0.0, mu=10.0)
    u = linear_map.forward(x)
    assert np.corrcoef(u[:, 0], truth)[0, 1] > 0.995
    assert evidence.means[1, 0] == pytest.approx(u[labels[:, 0] == 1, 0].mean(), rel=0.05)
    assert u[labels[:, 0] == 1, 0].var() == pytest.approx(evidence.variance, rel=0.1)
    np.testing.assert_allclose(linear_map.inverse(u), x, atol=1e-9)


def test_same_seed_same_vectors_whatever_the_threads():
    x, y, _ = classes.gaussian(np.random.default_rng(7), 600)
    threads = torch.get_num_threads()
    protected = []
    for count in (1, 2):
        torch.set_num_threads(count)
        protected.append(ZeroEvidenceFlow(epochs=3).fit(x, y).transform(x))
    torch.set_num_threads(threads)
    np.testing.assert_array_equal(*protected)


def test_paper_preset_and_parameters():
    paper = clone(ZeroEvidenceFlow.paper(epochs=2))
    assert (paper.linear_map, paper.batch, paper.learning_rate, paper.mu, paper.alpha) == ("none", 64, 1e-4, 10.0, 0.99)
    x, y, _ = classes.gaussian(np.random.default_rng(8), 400)
    rare = (y == "a") | (np.arange(400) % 4 == 0)
    paper.fit(x[rare], y[rare])
    assert paper.network_.couplings[0].first.shape == (2 * 16, 4)
    assert len(paper.network_.couplings) == 6
    assert paper.history_.losses == ()  # nobody is held out
    np.testing.assert_allclose(paper.linear_map_.mean, x[rare].mean(axis=0))  # vectors count alike
    balanced = ZeroEvidenceFlow.paper(epochs=1, weights="balanced").fit(x[rare], y[rare])
    middle = 0.5 * sum(x[rare & (y == label)].mean(axis=0) for label in "ab")
    np.testing.assert_allclose(balanced.linear_map_.mean, middle)


def test_mu_after_a_batch_is_that_of_equation_six():
    x, y, _ = classes.gaussian(np.random.default_rng(8), 64)
    paper = ZeroEvidenceFlow.paper(epochs=1, mu=4.0).fit(x, y)  # one batch, before which the network is the identity
    square = float(np.mean(((x[:, 0] - x[:, 0].mean()) / x[:, 0].std()) ** 2))
    assert paper.history_.mus == pytest.approx((4.0, 0.99 * 4.0 + 0.01 * (np.sqrt(1.0 + square) - 1.0)), rel=1e-5)
    assert paper.evidence_[0].mu == pytest.approx(paper.history_.mus[-1])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, y: ZeroEvidenceFlow(linear_map="svd").fit(x, y), UsageError, "lda, pca or none"),
        (lambda x, y: ZeroEvidenceFlow(epochs=0).fit(x, y), UsageError, "at least 1"),
        (lambda x, y: ZeroEvidenceFlow(held_out=1.0).fit(x, y), UsageError, "share"),
        (lambda x, y: ZeroEvidenceFlow(epochs=1).fit(x, y, keep=["u"]), InputError, "one per row"),
        (lambda x, y: ZeroEvidenceFlow(epochs=1, components=1).fit(x, y), InputError, "cannot hold"),
        (lambda x, y: ZeroEvidenceFlow(epochs=1).fit(x, y).set_evidence(x, [1.0, 2.0]), InputError, "one number or"),
        (lambda x, y: ZeroEvidenceFlow(epochs=1).fit(x, y).set_evidence(x, np.inf), InputError, "finite"),
    ],
)
def test_bad_requests_are_named(call, error, words):
    x, y, _ = classes.gaussian(np.random.default_rng(0), 100)
    with pytest.raises(error, match=words):
        call(x, y)


def test_circumcentre_and_points():
    rng = np.random.default_rng(0)
    for count in (2, 3, 5):
        evidence = LatentClasses(rng.standard_normal((count, count - 1)), 1.7)
        centre = evidence.placed(np.zeros(count))
        distances = np.linalg.norm(evidence.means - centre, axis=1)
        np.testing.assert_allclose(distances, distances[0])
        wanted = rng.standard_normal((4, count))
        reached = evidence.log_likelihoods(evidence.placed(wanted))
        np.testing.assert_allclose(reached - reached[:, :1], wanted - wanted[:, :1])
    corners = simplex(4, 2.5)
    gaps = np.linalg.norm(corners[:, None] - corners, axis=2)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(gaps, 2.5)
    z = np.linspace(-5.0, 5.0, 11)[:, None]
    np.testing.assert_allclose(LatentClasses.binary(3.0).llr(z), z[:, 0])  # the coordinate is the LLR
    with pytest.raises(InputError, match="span"):
        LatentClasses(np.zeros((3, 2)), 1.0).placed(np.zeros(3))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_gpu_learns_the_same_problem(precision):
    rng = np.random.default_rng(10)
    flow = ZeroEvidenceFlow(epochs=10, precision=precision).fit(*classes.gaussian(rng, 20000)[:2])
    assert flow.device_.type == "cuda"
    check_evidence(flow, *classes.gaussian(rng, 4000))


def test_rows_of_a_flow_have_its_latent_map_and_its_training():
    roles = Roles.split(voices(each=6, dimension=5), "sex")
    train = roles.train
    flow = ZeroEvidenceFlow(epochs=2).fit(train.vectors, train.attributes["sex"])
    options = Options(intervals=0, null=0)
    rows = from_json(to_json(assess({"flow": flow}, roles, "sex", AttackOptions(["logistic"]), options)))
    first = {row.labels["system"]: row for row in reversed(rows) if row.maps}
    assert first["flow"].maps["latent"].mu == pytest.approx(flow.evidence_[0].mu)
    assert first["flow"].curves["mu_over_epochs"].y == pytest.approx(flow.history_.mus)
    assert "mu_over_epochs" not in first["unprotected"].curves
