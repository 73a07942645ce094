"""Couplings of a normalising flow and their training, on torch, which this module imports, and NumPy alone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from zeroevidence.protect.attributes.flows import LatentClasses
from zeroevidence.protect.attributes.networks import copy_state
from zeroevidence.run import Step, no_step

_SLOPE = 0.01  # of LeakyReLU below zero
_WARM_UP = 3  # steps before a graph is captured
_PAPER_BATCH = 64  # vectors per batch for which the rate of the moving averages is given


def make_couplings(dimension: int, layers: int, hidden: int, *, seed: int) -> Couplings:
    r"""Return a flow over vectors of at least two entries, which starts as the identity.

    It is RealNVP [Dinh et al. 2017] on torch alone; scale and translation networks run as one batched product. A
    coupling leaves one half of the entries, a, as it is and maps the other half, b, to :math:`b \, e^{s(a)} + t(a)`;
    then the halves change places. :math:`s` and :math:`t` are perceptrons of three layers with LeakyReLU; :math:`s`
    ends in a tanh, which bounds how far a coupling can stretch.
    """
    return Couplings(dimension, layers, hidden, torch.Generator().manual_seed(seed))


class Coupling(nn.Module):  # type: ignore[misc, unused-ignore]
    """Networks for scale and translation, side by side: index 0 is s, 1 is t. The last layer starts at zero."""

    def __init__(self, inputs: int, outputs: int, hidden: int, generator: Any) -> None:
        super().__init__()

        def uniform(*shape: int, fan: int) -> Any:
            return nn.Parameter((torch.rand(*shape, generator=generator) * 2.0 - 1.0) / fan**0.5)

        self.hidden = hidden
        self.first = uniform(2 * hidden, inputs, fan=inputs)
        self.first_bias = uniform(2 * hidden, fan=inputs)
        self.second = uniform(2, hidden, hidden, fan=hidden)
        self.second_bias = uniform(2, 1, hidden, fan=hidden)
        self.third = nn.Parameter(torch.zeros(2, hidden, outputs))
        self.third_bias = nn.Parameter(torch.zeros(2, 1, outputs))

    def forward(self, half: Any) -> tuple[Any, Any]:
        """Return log scale and translation of the other half."""
        h: Any = functional.leaky_relu(functional.linear(half, self.first, self.first_bias), _SLOPE)
        h = h.unflatten(-1, (2, self.hidden)).transpose(0, 1)  # 2 x n x hidden
        h = functional.leaky_relu(torch.baddbmm(self.second_bias, h, self.second), _SLOPE)
        h = torch.baddbmm(self.third_bias, h, self.third).to(half.dtype)
        return torch.tanh(h[0]), h[1]


class Couplings(nn.Module):  # type: ignore[misc, unused-ignore]
    """Couplings in a row; the first half of the entries is one side of each, the second half the other."""

    def __init__(self, dimension: int, layers: int, hidden: int, generator: Any) -> None:
        super().__init__()
        self.sizes = sizes = ((dimension + 1) // 2, dimension // 2)
        self.couplings = nn.ModuleList(
            Coupling(sizes[i % 2], sizes[(i + 1) % 2], hidden, generator) for i in range(layers)
        )

    def forward(self, x: Any) -> tuple[Any, Any]:
        """Return the image z of x, and ``log |det dz/dx|``."""
        halves = list(x.split(self.sizes, dim=1))
        log_det = x.new_zeros(len(x))
        for i, coupling in enumerate(self.couplings):
            s, t = coupling(halves[i % 2])
            halves[(i + 1) % 2] = torch.addcmul(t, halves[(i + 1) % 2], s.exp())
            log_det = log_det + s.sum(dim=1)
        return torch.cat(halves, dim=1), log_det

    def inverse(self, z: Any) -> Any:
        """Return the vectors x whose image is z."""
        halves = list(z.split(self.sizes, dim=1))
        for i in reversed(range(len(self.couplings))):
            s, t = self.couplings[i](halves[i % 2])
            halves[(i + 1) % 2] = (halves[(i + 1) % 2] - t) * torch.exp(-s)
        return torch.cat(halves, dim=1)


@dataclass(frozen=True, slots=True)
class FlowTrainingSettings:
    """Settings of the training."""

    epochs: int = 100
    patience: int = 10
    batch: int = 64
    learning_rate: float = 1e-4
    decay_rate: bool = False  # lower the learning rate along half a cosine, after a short rise
    weight_decay: float = 0.0
    alpha: float = 0.99  # of the moving averages of the class densities, per 64 vectors
    bfloat16: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TrainingHistory:
    """Loss on held-out vectors (negative log-likelihood, in nats per vector) before training and after each epoch."""

    losses: tuple[float, ...]
    best: int  # the epoch whose state was kept
    diverged: bool = False  # no state with finite weights and loss was reached
    mus: tuple[float, ...] = ()  # mean evidence of the concealed attribute, in nats, at the same times


class ClassDensities:
    """Latent class densities of one attribute or several, as tensors that follow the data by moving averages."""

    def __init__(self, blocks: Sequence[tuple[Any, float]], device: Any) -> None:
        """Start from `blocks`: the class means (K x K-1) and the variance of each attribute."""
        self.means = [torch.as_tensor(means, dtype=torch.float32, device=device).clone() for means, _ in blocks]
        self.variances = [torch.tensor(float(v), dtype=torch.float32, device=device) for _, v in blocks]
        self.leading = sum(means.shape[1] for means in self.means)

    def loss(self, z: Any, labels: Any, log_det: Any) -> Any:
        """Return the negative log-likelihood of each vector; `labels` has a column per attribute."""
        start, total = 0, -log_det
        for a, (means, variance) in enumerate(zip(self.means, self.variances, strict=True)):
            part = z[:, start : start + means.shape[1]]
            start += means.shape[1]
            total = total + 0.5 * ((part - means[labels[:, a]]) ** 2).sum(dim=1) / variance
            total = total + 0.5 * means.shape[1] * variance.log()
        return total + 0.5 * (z[:, self.leading :] ** 2).sum(dim=1) + 0.5 * z.shape[1] * math.log(2.0 * math.pi)

    def follow(self, z: Any, labels: Any, weights: Any, alpha: float) -> None:
        """Move towards the maximum-likelihood values of a batch: eq. 6 for two classes, class means for more."""
        start = 0
        for a, (means, variance) in enumerate(zip(self.means, self.variances, strict=True)):
            part = z[:, start : start + means.shape[1]]
            start += means.shape[1]
            if len(means) == 2:
                square = (weights * part[:, 0] ** 2).sum() / weights.sum()
                mu = alpha * means[1, 0] + (1.0 - alpha) * (torch.sqrt(1.0 + square) - 1.0)
                mu = mu.clamp(min=1e-6)
                means.copy_(torch.stack([-mu, mu])[:, None])
                variance.copy_(2.0 * mu)
            else:
                share = torch.nn.functional.one_hot(labels[:, a], len(means)).to(part.dtype) * weights[:, None]
                count = share.sum(dim=0)[:, None]
                batch_means = torch.where(count > 0.0, share.T @ part / count.clamp(min=1e-12), means)
                means.lerp_(batch_means, 1.0 - alpha)

    def evidence(self) -> list[LatentClasses]:
        """Return the densities as they are now, for each attribute."""
        return [
            LatentClasses(means.double().cpu().numpy(), float(variance))
            for means, variance in zip(self.means, self.variances, strict=True)
        ]

    def tensors(self) -> list[Any]:
        """Return all tensors that follow the data."""
        return [*self.means, *self.variances]


@dataclass(slots=True)
class TensorData:
    """Vectors, labels (n x attributes) and weights on one device."""

    x: Any
    labels: Any
    weights: Any

    def __len__(self) -> int:
        return len(self.x)


def train(
    network: Any,
    densities: ClassDensities,
    data: TensorData,
    held: TensorData | None,
    settings: FlowTrainingSettings,
    step: Step = no_step,
) -> TrainingHistory:
    """Maximise the likelihood; with held-out vectors, return to the state in which they are most likely.

    Training ends early after `patience` epochs without gain, and as soon as the weights are no longer finite. Data,
    class densities and early stopping stay on the device. On a GPU one step is captured as a graph and replayed, with
    products in bfloat16 on request: launching many small kernels would otherwise take longer than running them.
    Covariances are diagonal in the latent space, so no covariance matrix is ever built.
    """
    generator = torch.Generator(device=data.x.device).manual_seed(settings.seed)
    optimiser = _Optimiser(network, densities, data, settings)
    losses = [held_out_loss(network, densities, held)] if held is not None else []
    mus = [densities.evidence()[0].mu]
    best, state = 0, _State(network, densities)
    for epoch in range(1, settings.epochs + 1):
        order: Any = torch.randperm(len(data), generator=generator, device=data.x.device)
        for rows in order.split(optimiser.batch)[: optimiser.steps_per_epoch]:
            optimiser.step(rows)
        step(epoch, settings.epochs)
        mus.append(densities.evidence()[0].mu)
        if held is None:
            if not _finite(network):
                break
            continue
        losses.append(held_out_loss(network, densities, held))
        if losses[-1] < losses[best]:
            best, state = epoch, _State(network, densities)
        elif epoch - best >= settings.patience or not math.isfinite(losses[-1]):
            break
    if held is None:
        return TrainingHistory((), settings.epochs, not _finite(network), tuple(mus))
    state.restore()
    return TrainingHistory(tuple(losses), best, best == 0 and not math.isfinite(losses[-1]), tuple(mus))


def held_out_loss(network: Any, densities: ClassDensities, held: TensorData, rows: int = 65536) -> float:
    """Return the weighted mean of the negative log-likelihood, in the precision of the vectors."""
    total = weight = 0.0
    with torch.no_grad():
        for start in range(0, len(held), rows):
            part = slice(start, start + rows)
            z, log_det = network(held.x[part])
            weights = held.weights[part]
            total += float((weights * densities.loss(z, held.labels[part], log_det)).sum())
            weight += float(weights.sum())
    return total / weight


class _Optimiser:
    """Steps of the optimiser; on a GPU the same step captured once and replayed."""

    def __init__(
        self, network: Any, densities: ClassDensities, data: TensorData, settings: FlowTrainingSettings
    ) -> None:
        self.network, self.densities, self.data, self.settings = network, densities, data, settings
        self.batch = min(settings.batch, len(data))
        self.steps_per_epoch = max(1, len(data) // self.batch)
        self.alpha = settings.alpha ** (self.batch / _PAPER_BATCH)
        self.on_gpu = data.x.is_cuda
        self.rate = torch.tensor(settings.learning_rate, device=data.x.device)
        self.optimiser = torch.optim.AdamW(
            network.parameters(),
            lr=self.rate if self.on_gpu else settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=self.on_gpu or None,
            capturable=self.on_gpu,
        )
        self.rows = torch.zeros(self.batch, dtype=torch.int64, device=data.x.device)
        self.number, self.steps = 0, self.steps_per_epoch * settings.epochs
        self.graph: Any = None
        self.start = _State(network, densities)

    def step(self, rows: Any) -> None:
        """Train on some rows."""
        rate = self._rate()
        self.number += 1
        if not self.on_gpu:
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            self.rows = rows
            self._work()
            return
        if self.graph is None:
            self._capture(rows)
        self.rows.copy_(rows)
        self.rate.fill_(rate)
        self.graph.replay()

    def _rate(self) -> float:
        if not self.settings.decay_rate:
            return self.settings.learning_rate
        rise = max(1, min(self.steps // 20, 500))
        if self.number < rise:
            return self.settings.learning_rate * (self.number + 1) / rise
        along = (self.number - rise) / max(1, self.steps - rise)
        return self.settings.learning_rate * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * along)))

    def _work(self) -> None:
        data, rows = self.data, self.rows
        x, labels, weights = (part.index_select(0, rows) for part in (data.x, data.labels, data.weights))
        cast: Any = (
            torch.autocast(data.x.device.type, torch.bfloat16) if self.settings.bfloat16 else contextlib.nullcontext()
        )
        with cast:
            z, log_det = self.network(x)
        loss = (weights * self.densities.loss(z, labels, log_det)).sum() / weights.sum()
        self.optimiser.zero_grad(set_to_none=not self.on_gpu)
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            self.densities.follow(z.detach(), labels, weights, self.alpha)

    def _capture(self, rows: Any) -> None:
        """Warm up on a side stream, take the steps back, and capture one."""
        self.rows.copy_(rows)
        stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                self._work()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._work()
        self.start.restore()
        for moments in self.optimiser.state.values():
            for value in moments.values():
                value.zero_()


def _finite(network: Any) -> bool:
    return bool(torch.stack([value.isfinite().all() for value in network.parameters()]).all())


class _State:
    """A copy of weights and densities, to return to."""

    def __init__(self, network: Any, densities: ClassDensities) -> None:
        self.network, self.tensors = network, densities.tensors()
        self.weights, self.copies = copy_state(network), [tensor.clone() for tensor in self.tensors]

    def restore(self) -> None:
        """Return to the copied weights and densities."""
        self.network.load_state_dict(self.weights)
        for tensor, copy in zip(self.tensors, self.copies, strict=True):
            tensor.copy_(copy)
