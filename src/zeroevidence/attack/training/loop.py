"""The training loop: angular margin over the training people, stopped by what development people disclose."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.speech.batches import cores
from zeroevidence.attack.training.angular_margin import AngularMargin
from zeroevidence.attack.training.checkpoints import load_checkpoint, save_checkpoint
from zeroevidence.attack.training.compute.cuda_graph import RecordedStep
from zeroevidence.attack.training.compute.memory import AdaptiveBatchSize
from zeroevidence.attack.training.compute.threads import on_cores, one_torch_thread
from zeroevidence.attack.training.data.crops import UtteranceFrames, disturbed
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.attack.training.development import DevelopmentScore, development_score
from zeroevidence.attack.training.history import Epoch, TrainedNetwork
from zeroevidence.attack.training.settings import LEAST_PEOPLE, TrainingSettings
from zeroevidence.errors import InputError, UsageError

EpochCallback = Callable[["Epoch"], None]
Say = Callable[[str], None]
_HEAD_RATE = 10.0  # the head starts at class means and may move faster than the encoder
_WARM_UP = 0.1  # share of the steps in which the rate rises
_EMBEDDED = 64  # utterances that a GPU embeds at once
PART = 4  # utterances of a batch that one core learns from
_STEEPEST = 5.0  # norm of the gradient


def train(
    network: nn.Module,
    training: FrameSet,
    development: FrameSet,
    settings: TrainingSettings | None = None,
    *,
    device: str | None = None,
    checkpoint: Path | None = None,
    told: EpochCallback | None = None,
    say: Say | None = None,
) -> TrainedNetwork:
    """Train an encoder to tell people apart, and keep the weights to which development people disclose most.

    Parameters
    ----------
    network
        With `frames(features)`, `pooled(frames, lengths)` and ``network(features)``; it is changed in place.
    training, development
        Features of other people each.
    settings
        How to train; with the scope ``last``, what `frames` gives is computed once, and `pooled` alone is trained.
    device
        Of torch; a GPU where there is one unless given.
    checkpoint
        Folder that holds the state after each epoch; a training that was cut off goes on from there.
    told
        Called after each epoch.
    say
        Called with a sentence where the device takes less at once than asked for; what is learned stays the same.
    """
    settings = settings or TrainingSettings()
    check_people(training, development)
    place = device_of(device)
    trainable = {one: one.requires_grad for one in network.to(place).parameters()}
    try:
        with reproducible(settings.seed, place):
            return TrainingRun(network, training, development, settings, place, say).run(checkpoint, told)
    finally:
        for parameter, was in trainable.items():
            parameter.requires_grad_(was)


def device_of(name: str | None) -> torch.device:
    """A device by its name; a GPU where there is one unless given."""
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def check_people(training: FrameSet, development: FrameSet) -> None:
    """Refuse people who are too few, or in both sets."""
    people = np.unique(training.speakers)
    common = np.intersect1d(people, development.speakers)
    if len(common):
        raise InputError(f"training and development share {len(common)} speaker(s), among them {str(common[0])!r}")
    if len(people) < LEAST_PEOPLE:
        raise InputError(
            f"{len(people)} training people; an encoder that learns from fewer than {LEAST_PEOPLE} learns them by heart"
        )
    if len(np.unique(development.speakers)) < 2:
        raise InputError("expected at least two development people to stop on")


@contextlib.contextmanager
def reproducible(seed: int, place: torch.device) -> Iterator[None]:
    """The same seed gives the same weights; torch's own generators are left as they were."""
    devices = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), one_torch_thread():
        torch.manual_seed(seed)
        yield


class TrainingRun:
    """One training under way; what it needs before the first step is computed when it is made."""

    def __init__(
        self,
        network: nn.Module,
        training: FrameSet,
        development: FrameSet,
        settings: TrainingSettings,
        place: torch.device,
        say: Say | None = None,
    ) -> None:
        self.network, self.settings, self.place = network, settings, place
        self.encoder: Any = network  # with the methods of an encoder, which a plain module lacks
        self.digests = (training.digest, development.digest)
        self.last = settings.scope == "last"
        self.batch = min(settings.batch, len(training))
        self.steps = math.ceil(len(training) / self.batch)
        self.captured: RecordedStep | None = None
        self.room = AdaptiveBatchSize(self.batch, say or (lambda _: None))
        # Without a GPU one at a time: padding would only be work.
        self.embedding_room = AdaptiveBatchSize(_EMBEDDED if place.type == "cuda" else 1, self.room.say)
        self._freeze(training)
        self.training, self.development = (self.source(one) for one in (training, development))
        self.crop = max(1, round(settings.crop * self.training.data.length.sum() / training.length.sum()))
        speakers, labels = np.unique(training.speakers, return_inverse=True)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(place)
        self.head = AngularMargin(self._class_means(labels, len(speakers)), settings.margin, settings.scale).to(place)
        self._schedule()

    def _schedule(self) -> None:
        rates = [self.settings.learning_rate, self.settings.learning_rate * _HEAD_RATE]
        weights = [one for one in self.network.parameters() if one.requires_grad], list(self.head.parameters())
        groups = [{"params": part, "lr": rate} for part, rate in zip(weights, rates, strict=True)]
        self.optimiser = torch.optim.AdamW(
            groups, weight_decay=self.settings.weight_decay, fused=self.place.type == "cuda"
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimiser, rates, total_steps=self.settings.epochs * self.steps, pct_start=_WARM_UP
        )

    def _freeze(self, training: FrameSet) -> None:
        """With `last` the trunk stays: the weights that a gradient reaches from frame-level outputs."""
        if not self.last:
            return
        everything = [one for one in self.network.parameters() if one.requires_grad]
        frames = self.encoder.frames(torch.from_numpy(training.utterance(0))[None].to(self.place))
        found = torch.autograd.grad(frames.float().sum(), everything, allow_unused=True)
        for parameter, slope in zip(everything, found, strict=True):
            parameter.requires_grad_(slope is None)

    def _mode(self) -> None:
        """Statistics of batch normalisation stay, which few people would spoil."""
        self.network.train()
        for module in self.network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()

    def source(self, data: FrameSet) -> UtteranceFrames:
        """What is learned from: the features, or with `last` what the trunk makes of them, computed once."""
        features = UtteranceFrames(data, self.place)
        if not self.last:
            return features
        lengths = np.array([int(self.encoder.frame_lengths(int(one))) for one in data.length], dtype=np.int64)
        return UtteranceFrames(FrameSet.gather(self._each(features, self._trunk), lengths, data.speakers), self.place)

    def _trunk(self, feats: torch.Tensor, lengths: list[int]) -> list[FloatArray]:
        most = float(np.finfo(np.float16).max)
        found = self.encoder.frames(feats, lengths).float().clamp(-most, most).half().cpu().numpy()
        kept = self.encoder.frame_lengths(lengths)
        return [one[: int(length)] for one, length in zip(found, kept, strict=True)]

    def embed(self, source: UtteranceFrames) -> FloatArray:
        """Embeddings of whole utterances."""
        forward = self.encoder.pooled if self.last else self.network
        found = dict(self._each(source, lambda frames, lengths: list(_plain(forward(frames, lengths)))))
        return np.stack([found[i] for i in range(len(source))])

    def _each(
        self, source: UtteranceFrames, compute: Callable[[torch.Tensor, list[int]], list[FloatArray]]
    ) -> Iterator[tuple[int, FloatArray]]:
        """What a function gives for each utterance; those of similar length are computed together, padded."""
        self.network.eval()
        order = np.argsort(source.data.length, kind="stable").tolist()
        done = 0
        side_by_side = 1 if self.place.type == "cuda" else cores()
        while done < len(order):
            size = self.embedding_room.size
            rows = order[done : done + side_by_side * size]
            batches = [rows[first : first + size] for first in range(0, len(rows), size)]
            found = self.embedding_room.attempt(partial(on_cores, partial(self._computed, compute, source), batches))
            if found is not None:
                yield from zip(rows, chain.from_iterable(found), strict=True)
                done += len(rows)

    def _computed(
        self, compute: Callable[[torch.Tensor, list[int]], list[FloatArray]], source: UtteranceFrames, rows: list[int]
    ) -> list[FloatArray]:
        with torch.no_grad(), self._precision():
            return compute(*source.whole(rows))

    def _class_means(self, labels: IntArray, people: int) -> torch.Tensor:
        vectors = self.embed(self.training)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return torch.from_numpy(np.stack([vectors[labels == k].mean(axis=0) for k in range(people)])).float()

    def _precision(self) -> Any:
        if self.place.type == "cuda":
            # weights that were cast before a recording must not be taken for those of a replay
            return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)
        return contextlib.nullcontext()

    def run(self, folder: Path | None, told: EpochCallback | None) -> TrainedNetwork:
        """All epochs, from the start or from where a checkpoint stands."""
        result = TrainedNetwork(self.network)
        state = None if folder is None else load_checkpoint(folder, self)
        if state is not None:
            result.epochs, result.best, best, kept = state.epochs, state.best, state.best_score, state.kept
        else:
            best, kept = self.look(), _copied(self.network)
            result.epochs = [Epoch(0, math.nan, best)]
        first = len(result.epochs)
        since = sum(1 for one in result.epochs if one.development is not None and one.number > result.best)
        for number in range(first, self.settings.epochs + 1):
            if since > self.settings.patience:
                break
            loss = self.epoch()
            looked = number % self.settings.look == 0 or number == self.settings.epochs
            found = self.look() if looked else None
            result.epochs.append(Epoch(number, loss, found))
            if found is not None:
                since += 1
                if found.bits > best.bits:
                    best, kept, since, result.best = found, _copied(self.network), 0, number
            if folder is not None:
                save_checkpoint(folder, self, result, kept)
            if told is not None:
                told(result.epochs[-1])
        self.network.load_state_dict(kept)
        self.network.eval()
        return result

    def look(self) -> DevelopmentScore:
        """What development people disclose now."""
        return development_score(self.embed(self.development), self.development.data.speakers)

    def epoch(self) -> float:
        """One pass over the utterances; the mean loss."""
        self._mode()
        sums = torch.zeros((), dtype=torch.float64, device=self.place)  # read once: reading waits for the device
        order = torch.randperm(len(self.training), device=self.place)
        for step in range(self.steps):
            rows = order[step * self.batch : (step + 1) * self.batch]
            if len(rows) > 1:  # the gradient of one says little
                sums += self._step(rows) * len(rows)
            self.schedule.step()
        total = float(sums)
        if not math.isfinite(total):
            raise UsageError("training diverged: the loss is not a number; lower the learning rate")
        return total / len(self.training)

    def _step(self, rows: torch.Tensor) -> torch.Tensor:
        pieces = self.training.pieces(rows, self.crop)
        if not self.last:
            pieces = disturbed(pieces, self.settings)
        loss: torch.Tensor | None = None
        while loss is None:
            loss = self.room.attempt(lambda: self._gradients(pieces, self.labels[rows]))
        nn.utils.clip_grad_norm_(self.network.parameters(), _STEEPEST)
        self.optimiser.step()
        return loss

    def _gradients(self, pieces: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Gradients of the mean loss of a batch: on all cores, or recorded where it always fits, or in parts."""
        if self.place.type != "cuda":
            return self._on_cores(pieces, labels)
        if len(pieces) < self.batch or len(pieces) > self.room.size:
            self.optimiser.zero_grad(set_to_none=True)
            return self._in_parts(pieces, labels)
        if self.captured is None:
            self.captured = RecordedStep(self._in_parts, self.optimiser, pieces, labels)
        return self.captured(pieces, labels)

    def _in_parts(self, pieces: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The mean loss; its gradients are summed over parts where a batch does not fit into memory at once."""
        losses = []
        for part, whose in zip(torch.split(pieces, self.room.size), torch.split(labels, self.room.size), strict=True):
            loss = self._share(part, whose, len(pieces))
            torch.autograd.backward(loss)
            losses.append(loss.detach())
        return torch.stack(losses).sum()

    def _on_cores(self, pieces: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The mean loss; its gradients are computed in small parts, each by one core, and added in their order."""
        weights = [one for group in self.optimiser.param_groups for one in group["params"]]
        size = min(PART, self.room.size)

        def learn(part: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, tuple[torch.Tensor | None, ...]]:
            loss = self._share(*part, len(pieces))
            return loss.detach(), torch.autograd.grad(loss, weights, allow_unused=True)

        found = on_cores(learn, list(zip(torch.split(pieces, size), torch.split(labels, size), strict=True)))
        for at, weight in enumerate(weights):
            slopes = [slope for _, part in found if (slope := part[at]) is not None]
            weight.grad = reduce(torch.add, slopes) if slopes else None
        return torch.stack([loss for loss, _ in found]).sum()

    def _share(self, part: torch.Tensor, labels: torch.Tensor, number: int) -> torch.Tensor:
        """What some of the pieces add to the mean loss of so many."""
        with self._precision():
            vectors = self.encoder.pooled(part) if self.last else self.network(part)
        share: torch.Tensor = self.head(vectors, labels) * (len(part) / number)
        return share


def _plain(vectors: torch.Tensor) -> FloatArray:
    return np.asarray(vectors.float().cpu().numpy(), np.float64)


def _copied(network: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}
