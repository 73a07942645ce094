"""The couplings against zuko's, which nobody here wrote, and the training against closed forms."""

import numpy as np
import pytest

from zeroevidence.protect.attributes.flows import LatentClasses

torch = pytest.importorskip("torch")

from zeroevidence.protect.attributes.flows.training import (  # noqa: E402
    ClassDensities,
    FlowTrainingSettings,
    TensorData,
    held_out_loss,
    make_couplings,
    train,
)


def shaken(dimension, layers=4, hidden=10):
    network = make_couplings(dimension, layers, hidden, seed=0).double()
    generator = torch.Generator().manual_seed(1)
    for parameter in network.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return network


@pytest.mark.parametrize("dimension", [2, 5, 8])
def test_inverse_and_jacobian(dimension):
    network = shaken(dimension)
    x = torch.randn(6, dimension, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    z, log_det = network(x)
    torch.testing.assert_close(network.inverse(z), x)
    assert torch.equal(make_couplings(dimension, 4, 10, seed=0).double()(x)[0], x)  # it starts as the identity
    for row, expected in zip(x, log_det, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda v: network(v[None])[0][0], row)
        torch.testing.assert_close(torch.linalg.slogdet(jacobian)[1], expected)


@pytest.mark.parametrize("dimension", [4, 7])
def test_equals_zuko(dimension):
    zuko = pytest.importorskip("zuko")
    from torch.distributions import AffineTransform

    network = shaken(dimension, layers=6)
    x = torch.randn(5, dimension, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    first = (dimension + 1) // 2
    y, total = x, torch.zeros(len(x), dtype=torch.float64)
    for number, coupling in enumerate(network.couplings):
        mask = torch.arange(dimension) < first
        mask = mask if number % 2 == 0 else ~mask

        def meta(given, coupling=coupling):
            s, t = coupling(given)
            return zuko.transforms.DependentTransform(AffineTransform(t, s.exp()), 1)

        transform = zuko.transforms.CouplingTransform(meta, mask)
        y, log_det = transform.call_and_ladj(y)
        total = total + log_det
    z, log_det = network(x)
    torch.testing.assert_close(z, y)
    torch.testing.assert_close(log_det, total)


def calibrated(mu):
    """The densities of a calibrated LLR."""
    evidence = LatentClasses.binary(mu)
    return ClassDensities([(evidence.means, evidence.variance)], "cpu")


def test_likelihood_is_that_of_normal_distributions():
    densities = calibrated(3.0)
    z = torch.randn(20, 5)
    labels = torch.arange(20)[:, None] % 2
    found = densities.loss(z, labels, torch.zeros(20))
    for row, label, loss in zip(z, labels[:, 0], found, strict=True):
        mean = torch.zeros(5)
        mean[0] = 3.0 if label else -3.0
        covariance = torch.diag(torch.tensor([6.0, 1.0, 1.0, 1.0, 1.0]))
        normal = torch.distributions.MultivariateNormal(mean, covariance)
        torch.testing.assert_close(-normal.log_prob(row), loss)


def test_training_finds_mu_of_a_gaussian_problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    x = rng.standard_normal((4000, 2))
    x[:, 0] = 3.0 * (2 * y - 1) + np.sqrt(6.0) * x[:, 0]
    densities, network = calibrated(1.0), make_couplings(2, 2, 8, seed=0)
    data = TensorData(torch.tensor(x, dtype=torch.float32), torch.tensor(y[:, None]), torch.ones(len(x)))
    train(network, densities, data, None, FlowTrainingSettings(epochs=20, batch=256, learning_rate=1e-3))
    assert float(densities.means[0][1, 0]) == pytest.approx(3.0, rel=0.1)
    best = 0.5 * np.log(2 * np.pi * np.e * 6.0) + 0.5 * np.log(2 * np.pi * np.e)
    assert held_out_loss(network, densities, data) == pytest.approx(best, abs=0.05)


def test_early_stopping_keeps_the_best_state():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 6, generator=generator)
    labels = torch.arange(40)[:, None] % 2
    densities, network = calibrated(1.0), make_couplings(6, 6, 32, seed=0)
    parts = [TensorData(x[a:b], labels[a:b], torch.ones(20)) for a, b in ((0, 20), (20, 40))]
    settings = FlowTrainingSettings(epochs=60, patience=5, batch=20, learning_rate=1e-2)
    history = train(network, densities, *parts, settings)
    assert history.best < len(history.losses) - 1
    assert held_out_loss(network, densities, parts[1]) == pytest.approx(min(history.losses), rel=1e-5)
