import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from tests.protect.attributes import classes
from zeroevidence.errors import UsageError
from zeroevidence.protect import AdversarialAutoencoder
from zeroevidence.protect.attributes.adversarial import _AdversarialTraining, _networks, _perceptron

torch = pytest.importorskip("torch")


def accuracy(x, y, test, test_y):
    return LogisticRegression(max_iter=1000).fit(x, y).score(test, test_y)


def test_hides_the_attribute_and_keeps_the_rest():
    rng = np.random.default_rng(0)
    (x, y, _), (test, test_y, truth) = classes.gaussian(rng, 3000), classes.gaussian(rng, 2000)
    coder = clone(AdversarialAutoencoder(code=8, epochs=40)).fit(x, y)
    assert np.corrcoef(coder.llr(test), truth)[0, 1] > 0.95
    before = accuracy(x, y, test, test_y)
    after = accuracy(coder.transform(x), y, coder.transform(test), test_y)
    assert before > 0.85
    assert after < before - 0.1
    kept = np.linalg.svd(np.cov(coder.transform(test).T))[1]
    assert (kept[:6] > 0.2 * np.linalg.svd(np.cov(test.T))[1][:6]).all()


def test_same_seed_same_vectors_and_three_classes():
    x, y = classes.three(np.random.default_rng(1), 600)
    one, other = (AdversarialAutoencoder(epochs=3).fit(x, y) for _ in range(2))
    np.testing.assert_array_equal(one.transform(x), other.transform(x))
    assert one.llr(x).shape == (600, 3)
    assert one.transform(x).shape == x.shape
    state = torch.random.get_rng_state()
    AdversarialAutoencoder(epochs=1).fit(x, y)
    assert torch.equal(state, torch.random.get_rng_state())
    with pytest.raises(UsageError, match="epochs"):
        AdversarialAutoencoder(epochs=0).fit(x, y)


def weights_of(network):
    return [parameter.detach().numpy().copy() for parameter in network.parameters()]


def outputs(weights, x):
    """Two layers with a leaky rectifier between them."""
    first, bias, second, other_bias = weights
    hidden = x @ first.T + bias
    return np.where(hidden > 0.0, hidden, 0.01 * hidden) @ second.T + other_bias


def adversarial_losses(encoder, decoder, classifier, part):
    """Reconstruction error, cross-entropy of the classifier, and that of guessing beyond its least, by definition."""
    x, score, weight, label = part
    code = outputs(encoder, x)
    decoded, logits = outputs(decoder, np.hstack([code, score])), outputs(classifier, code)
    log_share = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    error = ((decoded - x) ** 2).sum(axis=1) / x.shape[1]
    cross_entropy = -log_share[np.arange(len(x)), label]
    uniform = 1.0 / logits.shape[1]
    undecided = (uniform * (np.log(uniform) - log_share)).sum(axis=1)  # divergence of the classifier from guessing
    return [float((weight * loss).sum() / weight.sum()) for loss in (error, cross_entropy, undecided)]


def slopes(loss, weights, entries, step=1e-6):
    """Numerical derivatives of a loss with respect to some entries of a list of arrays."""
    found = []
    for number, place in entries:
        values = []
        for sign in (1.0, -1.0):
            moved = [weight.copy() for weight in weights]
            moved[number][place] += sign * step
            values.append(loss(moved))
        found.append((values[0] - values[1]) / (2.0 * step))
    return np.array(found)


def entries_of(weights, rng, each=12):
    return [(n, tuple(rng.integers(0, w.shape))) for n, w in enumerate(weights) for _ in range(each)]


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("strength", [0.0, 0.7])
def test_losses_and_their_gradients_are_those_of_the_formula(kinds, strength):
    """The classifier learns to tell the class; encoder and decoder learn to rebuild x and to leave it undecided."""
    rng = np.random.default_rng(kinds)
    x, score = rng.normal(size=(30, 6)), rng.dirichlet(np.ones(kinds), 30)
    part = x, score, rng.uniform(0.5, 2.0, 30), rng.integers(0, kinds, 30)
    torch.manual_seed(0)
    networks = [network.double() for network in (*_networks(6, 4, 5, kinds), _perceptron(4, 5, kinds))]
    training = _AdversarialTraining(tuple(networks), strength, lr=1e-3, weight_decay=0.0)
    tensors = tuple(torch.as_tensor(array) for array in part)
    before = [weights_of(network) for network in networks]
    error, cross_entropy, _ = adversarial_losses(*before, part)
    assert training.losses(tensors) == pytest.approx((error, cross_entropy / np.log(kinds)), rel=1e-12)
    training.step(tensors)
    encoder, decoder, classifier = before
    learned = weights_of(networks[2])
    places = entries_of(classifier, rng)
    slope = slopes(lambda moved: adversarial_losses(encoder, decoder, moved, part)[1], classifier, places)
    moved_by = np.array([learned[n][at] - classifier[n][at] for n, at in places])
    clear = np.abs(slope) > 1e-4
    np.testing.assert_allclose(moved_by[clear], -1e-3 * np.sign(slope[clear]), rtol=1e-3)  # the first step of Adam

    def loss(coders):
        rebuilt, _, undecided = adversarial_losses(coders[:4], coders[4:], learned, part)
        return rebuilt + strength * undecided

    coders = encoder + decoder
    gradients = [parameter.grad.numpy() for network in networks[:2] for parameter in network.parameters()]
    places = entries_of(coders, rng)
    expected = slopes(loss, coders, places)
    np.testing.assert_allclose([gradients[n][at] for n, at in places], expected, rtol=1e-5, atol=1e-8)


def test_vectors_are_decoded_with_the_score_of_one_half():
    x, y, _ = classes.gaussian(np.random.default_rng(3), 300)
    coder = AdversarialAutoencoder(epochs=2).fit(x, y)
    standard = (x - coder.mean_) / coder.scale_
    code = outputs(weights_of(coder.encoder_), standard)
    decoded = outputs(weights_of(coder.decoder_), np.hstack([code, np.full((300, 2), 0.5)]))
    np.testing.assert_allclose(coder.transform(x), decoded * coder.scale_ + coder.mean_, rtol=1e-4, atol=1e-4)
