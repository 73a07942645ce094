"""The training loop of speaker networks, with its loss, its checkpoints and an estimate of how long it takes."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from zeroevidence._typing import IntArray
from zeroevidence.attack.onnx_runtime import mean_by_owner
from zeroevidence.attack.training import TrainingSettings, compute, history
from zeroevidence.attack.training.crops import StepDraws, augment, draw_epoch
from zeroevidence.attack.training.features import FrameSet, TrainingFrames
from zeroevidence.data.json_values import plain, read_json, typed
from zeroevidence.data.store import Store, digest
from zeroevidence.errors import UsageError
from zeroevidence.optional import torch_threads
from zeroevidence.run import Run, available_cores


class AngularMargin(nn.Module):
    """Cosines to class vectors, the true one made harder by an angle [Deng et al. 2019]."""

    def __init__(self, centres: torch.Tensor, margin: float, scale: float) -> None:
        super().__init__()
        self.centres = nn.Parameter(functional.normalize(centres, dim=1))
        self.margin, self.scale = margin, scale

    def forward(self, vectors: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch."""
        cosine = functional.normalize(vectors.float(), dim=1) @ functional.normalize(self.centres, dim=1).T
        cosine = cosine.clamp(-1.0 + 1e-6, 1.0 - 1e-6)
        true = cosine.gather(1, labels[:, None])
        # cos(a + m) falls with a up to pi - m; beyond, a straight line goes on falling
        harder = true * math.cos(self.margin) - torch.sqrt(1.0 - true**2) * math.sin(self.margin)
        beyond = true < -math.cos(self.margin)
        harder = torch.where(beyond, true - self.margin * math.sin(self.margin), harder)
        logits = self.scale * cosine.scatter(1, labels[:, None], harder)
        return functional.cross_entropy(logits, labels)


_HEAD_RATE = 10.0  # the head starts at class means and may move faster than the encoder
_WARM_UP = 0.1  # share of the steps in which the rate rises
PART = 4  # utterances of a batch that one core learns from
_STEEPEST = 5.0  # norm of the gradient


def train(
    network: nn.Module,
    frames: TrainingFrames,
    settings: TrainingSettings = TrainingSettings(),
    *,
    on_epoch: Callable[[history.Epoch], None] = history.ignore_epoch,
    run: Run = Run(),
) -> history.TrainedNetwork:
    """Train an encoder to recognise people, and keep the weights to which development people disclose most.

    Parameters
    ----------
    network
        With `frames(features)`, `pooled(frames, lengths)` and ``network(features)``; it is changed in place.
    frames
        Features of the people.
    settings
        Settings of the training; with the scope ``last``, what `frames` gives is computed once, and only `pooled` is
        trained.
    on_epoch
        Called after each epoch.
    run
        Device, and messages where less fits into its memory than asked for; asked before each epoch whether to stop.
        Its cache keeps the state after each epoch, from which an interrupted training continues.
    """
    settings = settings.filled()
    frames.check_people()
    place = find_device(run.device)
    trainable = {parameter: parameter.requires_grad for parameter in network.to(place).parameters()}
    try:
        with reproducible(settings.seed, place):
            return TrainingRun(network, frames, settings, place, run).train(on_epoch)
    finally:
        for parameter, was in trainable.items():
            parameter.requires_grad_(was)


def find_device(name: str | None) -> torch.device:
    """Return a device by its name; by default a GPU where there is one."""
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


@contextlib.contextmanager
def reproducible(seed: int, place: torch.device) -> Iterator[None]:
    """Make the same seed give the same weights; torch's own generators are left as they were."""
    devices = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch_threads(1):
        torch.manual_seed(seed)
        yield


class TrainingRun:
    """A training in progress; what it needs before the first step is computed when it is made."""

    def __init__(
        self,
        network: nn.Module,
        frames: TrainingFrames,
        settings: TrainingSettings,
        place: torch.device,
        run: Run = Run(),
    ) -> None:
        self.network, self.settings, self.place, self.stop = network, settings, place, run.stop
        training, development = frames.training, frames.development
        self.encoder: Any = network  # with the methods of an encoder, which a plain module lacks
        self.last = settings.scope == "last"
        self.batch = min(settings.batch, len(training))
        self.steps = math.ceil(len(training) / self.batch)
        self.recorded: compute.RecordedStep | None = None
        self.batch_size = compute.AdaptiveBatchSize(self.batch, run)
        self.passes = compute.EncoderPasses(network, place, last=self.last, outputs=frames.outputs, run=run)
        self._freeze_trunk(training)
        self.training, self.development = (self.passes.source(data, run.cache) for data in (training, development))
        self.crop = max(1, round(settings.crop * self.training.data.length.sum() / training.length.sum()))
        labels = np.unique(training.speakers, return_inverse=True)[1]
        self.store = None if run.cache is None else Store(run.cache, history.CHECKPOINTS)
        self.key = "" if self.store is None else checkpoint_key(self)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(place)
        self.head = AngularMargin(self._class_means(labels), settings.margin, settings.scale).to(place)
        rates = [settings.learning_rate, settings.learning_rate * _HEAD_RATE]
        weights = [weight for weight in network.parameters() if weight.requires_grad], list(self.head.parameters())
        self.weights = [*weights[0], *weights[1]]
        groups = [{"params": part, "lr": rate} for part, rate in zip(weights, rates, strict=True)]
        self.optimiser = torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=True)
        steps = settings.epochs * self.steps
        # OneCycleLR divides by the number of rising steps less one.
        rising = _WARM_UP if _WARM_UP * steps != 1.0 else 2.0 * _WARM_UP
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimiser, rates, total_steps=steps, pct_start=rising)

    def _freeze_trunk(self, training: FrameSet) -> None:
        """With `last`, exclude the trunk from training: the weights that a gradient of frame-level outputs reaches."""
        if not self.last:
            return
        weights = [weight for weight in self.network.parameters() if weight.requires_grad]
        features = torch.from_numpy(training.utterance(0).astype(np.float32))
        frames = self.encoder.frames(features[None].to(self.place))
        gradients = torch.autograd.grad(frames.float().sum(), weights, allow_unused=True)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.requires_grad_(gradient is None)

    def _class_means(self, labels: IntArray) -> torch.Tensor:
        vectors = self.passes.embed_untrained(self.training)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return torch.from_numpy(mean_by_owner(vectors, labels))

    def train(self, on_epoch: Callable[[history.Epoch], None]) -> history.TrainedNetwork:
        """Train all epochs, from the start or from a checkpoint, or until it is to stop."""
        state = None if self.store is None else load_checkpoint(self.store, self.key, self)
        if state is None:
            untrained = history.Epoch(0, math.nan, self.look(untrained=True))
            state = history.TrainedNetwork(self.network, [untrained]), copy.deepcopy(self.network.state_dict())
        result, weights = state
        first, best = len(result.epochs), result.best_score
        assert best is not None
        since = sum(1 for epoch in result.epochs if epoch.development is not None and epoch.number > result.best)
        for number in range(first, self.settings.epochs + 1):
            if since > self.settings.patience or self.stop():
                break
            loss = self.epoch()
            looks = number % self.settings.look == 0 or number == self.settings.epochs
            score = self.look() if looks else None
            result.epochs.append(history.Epoch(number, loss, score))
            if score is not None:
                since += 1
                if score.bits > best.bits:
                    best, weights, since, result.best = score, copy.deepcopy(self.network.state_dict()), 0, number
            if self.store is not None:
                save_checkpoint(self.store, self.key, self, result, weights)
            on_epoch(result.epochs[-1])
        self.network.load_state_dict(weights)
        self.network.eval()
        return result

    def look(self, *, untrained: bool = False) -> history.DevelopmentScore:
        """Evaluate the network as it is now on the development people."""
        embed = self.passes.embed_untrained if untrained else self.passes.embed
        return history.development_score(embed(self.development), self.development.data.speakers)

    def epoch(self) -> float:
        """Pass once over the utterances, and return the mean loss."""
        self.network.train()
        for module in self.network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()  # few people would spoil the statistics of batch normalisation
        sums = torch.zeros((), dtype=torch.float64, device=self.place)  # read once: reading waits for the device
        batches = draw_epoch(len(self.training), self.batch, self.settings, self.place)
        with contextlib.closing(self.training.crops(batches, self.crop)) as cropped:
            for batch, crops in zip(batches, cropped, strict=True):
                sums += self._step(crops, batch) * len(batch.rows)
                self.schedule.step()
        for _ in range(self.steps - len(batches)):
            self.schedule.step()
        total = float(sums)
        if not math.isfinite(total):
            raise UsageError("training diverged: the loss is not a number; lower the learning rate")
        return total / len(self.training)

    def _step(self, crops: torch.Tensor, step: StepDraws) -> torch.Tensor:
        """Learn from a batch of crops, and return their mean loss."""
        if not self.last:
            crops = augment(crops, self.settings, step)
        loss: torch.Tensor | None = None
        while loss is None:
            loss = self.batch_size.attempt(lambda: self._gradients(crops, self.labels[step.rows]))
        nn.utils.clip_grad_norm_(self.network.parameters(), _STEEPEST)
        self.optimiser.step()
        return loss

    def _gradients(self, crops: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Compute gradients of a batch: on all cores, recorded where it always fits, or in parts."""
        if self.place.type != "cuda":
            return self._on_cores(crops, labels)
        if len(crops) != self.batch or len(crops) > self.batch_size.size:
            self.optimiser.zero_grad(set_to_none=True)
            return self._in_parts(crops, labels)
        if self.recorded is None:
            self.recorded = compute.RecordedStep(self._in_parts, self.optimiser, crops, labels)
        return self.recorded(crops, labels)

    def _in_parts(self, crops: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of crops; gradients are summed over parts that fit into memory."""
        losses = []
        size = self.batch_size.size
        for part, part_labels in zip(torch.split(crops, size), torch.split(labels, size), strict=True):
            loss = self._share(part, part_labels, len(crops))
            torch.autograd.backward(loss)
            losses.append(loss.detach())
        return torch.stack(losses).sum()

    def _on_cores(self, crops: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the same; gradients are computed in small parts, one core each, and added in their order."""
        weights = self.weights
        size = min(PART, self.batch_size.size)

        def learn(part: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, tuple[torch.Tensor | None, ...]]:
            loss = self._share(*part, len(crops))
            return loss.detach(), torch.autograd.grad(loss, weights, allow_unused=True)

        parts = compute.on_cores(learn, list(zip(torch.split(crops, size), torch.split(labels, size), strict=True)))
        for at, weight in enumerate(weights):
            gradients = [gradient for _, part in parts if (gradient := part[at]) is not None]
            weight.grad = reduce(torch.add, gradients) if gradients else None
        return torch.stack([loss for loss, _ in parts]).sum()

    def _share(self, part: torch.Tensor, labels: torch.Tensor, number: int) -> torch.Tensor:
        """Return what some of the crops add to the mean loss of so many."""
        with compute.precision(self.place):
            vectors = self.encoder.pooled(part) if self.last else self.network(part)
        share: torch.Tensor = self.head(vectors, labels) * (len(part) / number)
        return share


Result = TypeVar("Result")


def estimate_seconds(
    network: Any, frames: TrainingFrames, settings: TrainingSettings = TrainingSettings(), run: Run = Run()
) -> float:
    """Return the seconds that `train` takes at most, from the time that a few utterances take.

    The arguments are those of `train`. The network is left as it is.
    """
    settings = settings.filled()
    frames.check_people()
    place, training, development = find_device(run.device), frames.training, frames.development
    # Without a GPU the cost grows with the number of utterances, so a few show it; a GPU takes a whole batch at once.
    on_gpu = place.type == "cuda"
    sample = _typical(training, settings.batch if on_gpu else min(settings.batch, PART * available_cores()))
    passed, stopping = sample if on_gpu else _typical(training, available_cores()), _typical(development, 2)
    short = replace(settings, epochs=3)
    with reproducible(settings.seed, place):
        untrained = copy.deepcopy(network).to(place)
        running = TrainingRun(untrained, replace(frames, training=sample, development=stopping), short, place)
        if on_gpu:
            running.epoch()  # the first of everything is slower
        source, prepared = _timed(place, lambda: running.passes.source(passed))
        _, embedded = _timed(place, lambda: running.passes.embed(source))
        _, learned = _timed(place, running.epoch)
    to_learn, to_look, timed = (float(data.length.sum()) for data in (training, development, passed))
    looks = 1 + settings.epochs // settings.look
    once = (prepared * (to_learn + to_look) + embedded * to_learn) / timed
    return once + looks * embedded * to_look / timed + settings.epochs * learned * len(training) / len(sample)


def _typical(data: FrameSet, count: int) -> FrameSet:
    """Return so many utterances, from the shortest to the longest."""
    order = np.argsort(data.length, kind="stable")
    at = np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(np.int64)
    return data.take(order[np.unique(at)])


def _timed(place: torch.device, function: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = function()
    if place.type == "cuda":
        torch.cuda.synchronize(place)
    return result, time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class _Facts:
    """The content of a checkpoint beside tensors."""

    best: int
    epochs: tuple[history.Epoch, ...]
    schedule: int
    rates: tuple[float, ...]
    momenta: tuple[tuple[float, ...], ...]


def checkpoint_key(training: TrainingRun) -> str:
    """Return the key of a `TrainingRun` that has not begun: all that its result depends on."""
    weights = [(name, value.cpu().numpy()) for name, value in training.network.state_dict().items()]
    settings = json.dumps(asdict(training.settings), sort_keys=True)
    data = (training.training.data.digest, training.development.data.digest)
    return digest(settings, *data, *(part for weight in weights for part in weight))


def save_checkpoint(
    store: Store, key: str, training: TrainingRun, result: history.TrainedNetwork, weights: dict[str, torch.Tensor]
) -> None:
    """Keep everything that the next epoch of a `TrainingRun` depends on."""
    tensors = {f"network.{name}": value for name, value in training.network.state_dict().items()}
    tensors |= {f"kept.{name}": value for name, value in weights.items()}
    tensors |= {f"head.{name}": value for name, value in training.head.state_dict().items()}
    for number, state in training.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors["random"] = torch.get_rng_state()
    if training.place.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(training.place)
    groups = training.optimiser.param_groups
    facts = _Facts(
        best=result.best,
        epochs=tuple(result.epochs),
        schedule=training.schedule.last_epoch,
        rates=tuple(group["lr"] for group in groups),
        momenta=tuple(tuple(group["betas"]) for group in groups),
    )
    arrays = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
    store.save_arrays(key, {**arrays, "facts": np.array(json.dumps(plain(asdict(facts)), allow_nan=False))})


def load_checkpoint(
    store: Store, key: str, training: TrainingRun
) -> tuple[history.TrainedNetwork, dict[str, torch.Tensor]] | None:
    """Put a `TrainingRun` back into the state of a checkpoint; None where there is no checkpoint.

    Returned are its history and the weights of its best epoch.
    """
    arrays = store.load_arrays(key)
    if arrays is None:
        return None
    facts = typed(_Facts, read_json(str(arrays.pop("facts")), store.path(key)), "facts")
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    training.network.load_state_dict(_part(tensors, "network."))
    training.head.load_state_dict(_part(tensors, "head."))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in _part(tensors, "optimiser.").items():
        number, _, field = name.partition(".")
        state.setdefault(int(number), {})[field] = value
    whole = training.optimiser.state_dict()
    training.optimiser.load_state_dict({**whole, "state": state})
    training.schedule.last_epoch = facts.schedule
    for group, rate, betas in zip(training.optimiser.param_groups, facts.rates, facts.momenta, strict=True):
        group["lr"], group["betas"] = rate, betas
    torch.set_rng_state(tensors["random"])
    if "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"], training.place)
    return history.TrainedNetwork(training.network, list(facts.epochs), facts.best), _part(tensors, "kept.")


def _part(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
