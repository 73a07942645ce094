"""The training loop: angular margin over the training people, stopped by what development people disclose."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from zeroevidence._typing import FloatArray
from zeroevidence.attack.training.checkpoints import load_checkpoint, save_checkpoint
from zeroevidence.attack.training.disclosure import DevelopmentScore, development_score
from zeroevidence.attack.training.frames import FrameSet
from zeroevidence.attack.training.history import Epoch, Trained
from zeroevidence.attack.training.settings import LEAST_PEOPLE, TrainingSettings
from zeroevidence.errors import InputError, UsageError

Told = Callable[["Epoch"], None]
_HEAD_RATE = 10.0  # the head starts at class means and may move faster than the encoder
_WARM_UP = 0.1  # share of the steps in which the rate rises
_EMBEDDED = 64  # utterances that a GPU embeds at once


class AngularMargin(nn.Module):
    """Cosines to class vectors, the true one made harder by an angle [Deng et al. 2019]."""

    def __init__(self, centres: torch.Tensor, margin: float, scale: float) -> None:
        super().__init__()
        self.centres = nn.Parameter(functional.normalize(centres, dim=1))
        self.margin, self.scale = margin, scale

    def forward(self, vectors: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss."""
        cosine = functional.normalize(vectors.float(), dim=1) @ functional.normalize(self.centres, dim=1).T
        cosine = cosine.clamp(-1.0 + 1e-6, 1.0 - 1e-6)
        true = cosine.gather(1, labels[:, None])
        # cos(a + m) falls with a up to pi - m; beyond, a straight line goes on falling
        harder = true * math.cos(self.margin) - torch.sqrt(1.0 - true**2) * math.sin(self.margin)
        beyond = true < -math.cos(self.margin)
        harder = torch.where(beyond, true - self.margin * math.sin(self.margin), harder)
        logits = self.scale * cosine.scatter(1, labels[:, None], harder)
        return functional.cross_entropy(logits, labels)


def train(
    network: nn.Module,
    training: FrameSet,
    development: FrameSet,
    settings: TrainingSettings | None = None,
    *,
    device: str | None = None,
    checkpoint: Path | None = None,
    told: Told | None = None,
) -> Trained:
    """Train an encoder to tell people apart, and keep the weights to which development people disclose most.

    Parameters
    ----------
    network
        With `frames(features)`, `pooled(frames, lengths)` and ``network(features)``; it is changed in place.
    training, development
        Features of other people each.
    settings
        How to train.
    device
        Of torch; a GPU where there is one unless given.
    checkpoint
        Folder that holds the state after each epoch; a training that was cut off goes on from there.
    told
        Called after each epoch.
    """
    settings = settings or TrainingSettings()
    _check(training, development)
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    with _reproducible(settings.seed, place):
        return _Training(network.to(place), training, development, settings, place).run(checkpoint, told)


def _check(training: FrameSet, development: FrameSet) -> None:
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
def _reproducible(seed: int, place: torch.device) -> Iterator[None]:
    """The same seed gives the same weights; torch's own generators are left as they were."""
    devices = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


class _Training:
    """One training under way."""

    def __init__(
        self,
        network: nn.Module,
        training: FrameSet,
        development: FrameSet,
        settings: TrainingSettings,
        place: torch.device,
    ) -> None:
        self.network, self.settings, self.place, self.development = network, settings, place, development
        self.encoder: Any = network  # with the methods of an encoder, which a plain module lacks
        self.speakers, labels = np.unique(training.speakers, return_inverse=True)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(place)
        self.training = training
        self.last = settings.scope == "last"
        self._freeze()
        self.source = self._cached(training) if self.last else training
        self.frames = torch.from_numpy(self.source.frames).to(place)
        self.start = torch.from_numpy(self.source.start).to(place)
        self.length = torch.from_numpy(self.source.length).to(place)
        self.crop = max(1, round(settings.crop * self.source.length.sum() / training.length.sum()))
        self.head = AngularMargin(self._class_means(), settings.margin, settings.scale).to(place)
        self.batch = min(settings.batch, len(training))
        self.steps = math.ceil(len(training) / self.batch)
        groups = [
            {"params": [one for one in network.parameters() if one.requires_grad], "lr": settings.learning_rate},
            {"params": list(self.head.parameters()), "lr": settings.learning_rate * _HEAD_RATE},
        ]
        self.optimiser = torch.optim.AdamW(groups, weight_decay=settings.weight_decay)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimiser,
            [settings.learning_rate, settings.learning_rate * _HEAD_RATE],
            total_steps=settings.epochs * self.steps,
            pct_start=_WARM_UP,
        )

    def _freeze(self) -> None:
        """Statistics of batch normalisation stay, which few people would spoil; with `last` the trunk stays too."""
        for parameter in self.network.parameters():
            parameter.requires_grad_(True)
        if self.last:
            for parameter in self._trunk():
                parameter.requires_grad_(False)

    def _trunk(self) -> list[nn.Parameter]:
        """The weights that frame-level outputs depend on: those that a gradient reaches from there."""
        frames = self.encoder.frames(torch.from_numpy(self.training.utterance(0))[None].to(self.place))
        everything = list(self.network.parameters())
        found = torch.autograd.grad(frames.float().sum(), everything, allow_unused=True)
        return [one for one, slope in zip(everything, found, strict=True) if slope is not None]

    def _mode(self) -> None:
        self.network.train()
        for module in self.network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()

    def _cached(self, frames: FrameSet) -> FrameSet:
        """Frame-level outputs of the trunk, computed once."""
        self.network.eval()
        outputs: list[FloatArray] = [np.empty(0)] * len(frames)
        with torch.no_grad(), self._precision():
            for rows, feats, lengths in self._batches(frames):
                found = self.encoder.frames(feats, lengths).float().cpu().numpy()
                for i, one, length in zip(rows, found, self.encoder.frame_lengths(lengths), strict=True):
                    outputs[i] = one[: int(length)]
        return FrameSet.join(outputs, frames.speakers)

    def embed(self, frames: FrameSet) -> FloatArray:
        """Embeddings of whole utterances."""
        self.network.eval()
        found: list[FloatArray] = [np.empty(0)] * len(frames)
        with torch.no_grad(), self._precision():
            for rows, feats, lengths in self._batches(frames):
                for i, one in zip(rows, self.network(feats, lengths).float().cpu().numpy(), strict=True):
                    found[i] = one.astype(np.float64)
        return np.stack(found)

    def _batches(self, frames: FrameSet) -> Iterator[tuple[list[int], torch.Tensor, list[int]]]:
        """Utterances of similar length together, padded; one at a time without a GPU, where padding is only work."""
        size = _EMBEDDED if self.place.type == "cuda" else 1
        order = np.argsort(frames.length, kind="stable").tolist()
        for first in range(0, len(order), size):
            rows = order[first : first + size]
            lengths = [int(frames.length[i]) for i in rows]
            feats = torch.zeros(len(rows), max(lengths), frames.frames.shape[1])
            for at, i in enumerate(rows):
                feats[at, : lengths[at]] = torch.from_numpy(frames.utterance(i))
            yield rows, feats.to(self.place), lengths

    def _class_means(self) -> torch.Tensor:
        vectors = self.embed(self.training)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        labels = self.labels.cpu().numpy()
        means = [vectors[labels == k].mean(axis=0) for k in range(len(self.speakers))]
        return torch.from_numpy(np.stack(means)).float()

    def _precision(self) -> Any:
        if self.place.type == "cuda":
            return torch.autocast("cuda", dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def run(self, folder: Path | None, told: Told | None) -> Trained:
        """All epochs, from the start or from where a checkpoint stands."""
        result = Trained(self.network)
        best = self._look()
        state = None if folder is None else load_checkpoint(folder, self)
        if state is not None:
            result.epochs, result.best, best = state.epochs, state.best, state.best_score
            kept = state.kept
        else:
            result.epochs = [Epoch(0, math.nan, best)]
            kept = _copied(self.network)
        first = len(result.epochs)
        since = sum(1 for one in result.epochs if one.development is not None and one.number > result.best)
        for number in range(first, self.settings.epochs + 1):
            if since > self.settings.patience:
                break
            loss = self._pass()
            looked = number % self.settings.look == 0 or number == self.settings.epochs
            found = self._look() if looked else None
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

    def _look(self) -> DevelopmentScore:
        return development_score(self.embed(self.development), self.development.speakers)

    def _pass(self) -> float:
        """One pass over the utterances; the mean loss."""
        self._mode()
        total = 0.0
        order = torch.randperm(len(self.training), device=self.place)
        for step in range(self.steps):
            rows = order[step * self.batch : (step + 1) * self.batch]
            if len(rows) < 2:  # batch normalisation of one means nothing
                self.schedule.step()
                continue
            pieces = self._pieces(rows)
            with self._precision():
                vectors = self.encoder.pooled(pieces) if self.last else self.network(pieces)
            loss = self.head(vectors, self.labels[rows])
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
            self.optimiser.step()
            self.schedule.step()
            total += float(loss.detach()) * len(rows)
        if not math.isfinite(total):
            raise UsageError("training diverged: the loss is not a number; lower the learning rate")
        return total / len(self.training)

    def _pieces(self, rows: torch.Tensor) -> torch.Tensor:
        """Random pieces of utterances, short ones repeated; with masked bands and a random noise floor."""
        length, start = self.length[rows], self.start[rows]
        room = (length - self.crop).clamp(min=0)
        first = (torch.rand(len(rows), device=self.place) * (room + 1)).long()
        at = first[:, None] + torch.arange(self.crop, device=self.place)
        pieces = self.frames[start[:, None] + at % length[:, None]]
        if self.last:
            return pieces
        if self.settings.floor:
            depth = 3.0 + self.settings.floor * torch.rand(len(rows), 1, 1, device=self.place)
            level = pieces.mean(dim=1, keepdim=True) - depth * pieces.std(dim=1, keepdim=True)
            pieces = torch.logaddexp(pieces, level)
        pieces = pieces - pieces.mean(dim=1, keepdim=True)
        if self.settings.band_mask:
            bands = pieces.shape[2]
            width = max(1, round(self.settings.band_mask * bands))
            lowest = (torch.rand(len(rows), 1, 1, device=self.place) * (bands - width + 1)).long()
            band = torch.arange(bands, device=self.place)
            pieces = pieces.masked_fill((band >= lowest) & (band < lowest + width), 0.0)
        return pieces


def _copied(network: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}
