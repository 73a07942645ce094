"""Training time of the flow on a GPU, and whether speed cost likelihood.

    python benchmarks/flow_gpu.py [--vectors 1000000] [--dim 512] [--epochs 10] [--plain-batches 500] [--reference]

Needs a CUDA device, torch and NumPy. Vectors are drawn from two curved classes. `plain` is a loop as the paper has
it: Adam 1e-4, single precision, class densities as multivariate normal distributions with covariance matrices made anew
for each batch, of 64 vectors, since the paper gives no number; some of its batches are timed and multiplied up.
`--reference` also trains with batches of 64 at that rate for all epochs, in single precision and with the same step as
ours, which is the same mathematics, to have a held-out likelihood to compare with.
"""

from __future__ import annotations

import argparse
import time

import torch

from zeroevidence.protect.attributes.flows import LatentClasses
from zeroevidence.protect.attributes.flows.training import (
    ClassDensities,
    FlowTrainingSettings,
    TensorData,
    held_out_loss,
    make_couplings,
    train,
)


def curved(count, dim, device):
    """Two classes behind a random smooth map, standardised, with their labels; the same for the same numbers."""
    generator = torch.Generator(device=device).manual_seed(7)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device=device)

    labels = (torch.rand(count, generator=generator, device=device) < 0.4).long()
    x = normal(count, dim)
    x[:, 0] += 3.0 * (2.0 * labels - 1.0)
    for _ in range(2):
        turn, _ = torch.linalg.qr(normal(dim, dim))
        x = x @ turn
        x = x + 0.7 * torch.tanh(x @ (normal(dim, dim) / dim**0.5) * 1.5)
    return (x - x.mean(dim=0)) / x.std(dim=0), labels[:, None]


def plain(network, data, batches, dim):
    """Seconds per batch of the loop as described."""
    from torch.distributions import MultivariateNormal

    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)
    mu = torch.tensor(10.0, device=data.x.device)
    order = torch.randperm(len(data), device=data.x.device)
    started = time.perf_counter()
    for number in range(batches):
        rows = order[number * 64 : (number + 1) * 64]
        x, labels = data.x[rows], data.labels[rows, 0]
        mean = torch.zeros(dim, device=x.device)
        mean[0] = mu
        scale = torch.ones(dim, device=x.device)
        scale[0] = 2.0 * mu
        z, log_det = network(x)
        loss = 0.0
        for label, sign in ((0, -1.0), (1, 1.0)):
            here = labels == label
            density = MultivariateNormal(sign * mean, covariance_matrix=torch.diag(scale))
            loss = loss - (density.log_prob(z[here]) + log_det[here]).sum()
        optimiser.zero_grad()
        (loss / len(x)).backward()
        optimiser.step()
        with torch.no_grad():
            mu = 0.99 * mu + 0.01 * ((1.0 + (z[:, 0] ** 2).mean()).sqrt() - 1.0)
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / batches


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--plain-batches", type=int, default=500)
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--batch", type=int, nargs="*", default=[1024])
    parser.add_argument("--rate", type=float, nargs="*", default=[5e-4])
    options = parser.parse_args()
    device = torch.device("cuda")
    held_count = 20_000
    x, labels = curved(options.vectors + held_count, options.dim, device)
    weights = torch.ones(len(x), device=device)
    data = TensorData(x[:-held_count], labels[:-held_count], weights[:-held_count])
    held = TensorData(x[-held_count:], labels[-held_count:], weights[-held_count:])

    def fresh():
        network = make_couplings(options.dim, 6, 2 * options.dim, seed=0).to(device)
        evidence = LatentClasses.binary(10.0)
        return network, ClassDensities([(evidence.means, evidence.variance)], device)

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.vectors} x {options.dim}")
    network, densities = fresh()
    print(f"before training: held-out {held_out_loss(network, densities, held):.2f} nats")
    plain(network, data, 20, options.dim)
    per_batch = plain(fresh()[0], data, options.plain_batches, options.dim)
    print(f"plain loop: {per_batch * 1e3:.1f} ms per batch of 64, {per_batch * options.vectors / 64:.0f} s per epoch")

    def timed(name, recipe):
        network, densities = fresh()
        torch.cuda.synchronize()
        started = time.perf_counter()
        train(network, densities, data, None, recipe)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - started
        loss = held_out_loss(network, densities, held)
        print(f"{name}: {seconds:.1f} s for {recipe.epochs} epochs, held-out {loss:.2f} nats", flush=True)

    for batch in options.batch:
        for rate in options.rate:
            recipe = FlowTrainingSettings(
                epochs=options.epochs, batch=batch, learning_rate=rate, decay_rate=True, bfloat16=True
            )
            timed(f"captured, bfloat16, batch {batch}, rate {rate:g}", recipe)
    if options.reference:
        timed("captured, float32, batch 64, rate 1e-4", FlowTrainingSettings(epochs=options.epochs))


if __name__ == "__main__":
    main()
