"""Utterances for a device: random crops to learn from, and padded batches. This module imports torch.

A set that is small enough is held on the device. Of a larger one, threads read what the next steps need from disk, so
that neither the device nor the machine has to hold it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from zeroevidence._typing import IntArray
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.attack.training.features import FrameSet

HELD = 2 << 30  # bytes of features of a set that is held on a device
_READERS = 4  # threads that read from disk
Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class StepDraws:
    """The random choices of a step: utterances, and for each of them where in [0, 1) crop, floor and mask lie."""

    rows: torch.Tensor
    crop: torch.Tensor
    floor: torch.Tensor | None
    mask: torch.Tensor | None


def draw_epoch(count: int, batch: int, settings: TrainingSettings, place: torch.device) -> list[StepDraws]:
    """Draw an order of so many utterances, and the random choices of each step; a batch of one is left out."""
    order = torch.randperm(count, device=place)
    augmented = settings.scope == "all"
    steps = []
    for first in range(0, count, batch):
        rows = order[first : first + batch]
        if len(rows) > 1:  # the gradient of one says little
            crop = torch.rand(len(rows), device=place)
            floor = torch.rand(len(rows), 1, 1, device=place) if augmented and settings.floor else None
            mask = torch.rand(len(rows), 1, 1, device=place) if augmented and settings.band_mask else None
            steps.append(StepDraws(rows, crop, floor, mask))
    return steps


class UtteranceFrames:
    """Frames of utterances for one device: features, or the output of a trunk.

    Parameters
    ----------
    data
        The utterances.
    place
        The device.
    held
        Largest size in bytes of a set that is held on the device.
    """

    def __init__(self, data: FrameSet, place: torch.device, held: int = HELD) -> None:
        self.data, self.place = data, place
        self.is_held = data.nbytes <= held

    def __len__(self) -> int:
        return len(self.data)

    def crops(self, steps: Sequence[StepDraws], frames: int) -> Generator[torch.Tensor, None, None]:
        """Yield the crops of each step, short utterances repeated: utterances x frames x channels."""
        if self.is_held:
            yield from (self._held_crops(step, frames) for step in steps)
            return
        sizes = [len(step.rows) for step in steps]
        # one copy to main memory for a whole epoch: each waits for the device
        rows, draws = (
            np.split(torch.cat(column).cpu().numpy(), np.cumsum(sizes)[:-1])
            for column in ([step.rows for step in steps], [step.crop for step in steps])
        )

        def read(at: int) -> torch.Tensor:
            return self._read_crops(rows[at], draws[at], frames)

        with closing(_read_ahead(read, range(len(steps)))) as batches:
            for batch in batches:
                yield batch.to(self.place, non_blocking=True).float()

    @cached_property
    def _held(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Frames on the device, and first frame and length of each utterance."""
        arrays = self.data.in_memory(), np.cumsum(self.data.length) - self.data.length, self.data.length
        frames, start, length = (torch.from_numpy(array).to(self.place) for array in arrays)
        return frames, start, length

    def _held_crops(self, step: StepDraws, frames: int) -> torch.Tensor:
        held, starts, lengths = self._held
        length, start = lengths[step.rows], starts[step.rows]
        latest = (length - frames).clamp(min=0)
        first = (step.crop * (latest + 1)).long()
        at = first[:, None] + torch.arange(frames, device=self.place)
        return held[start[:, None] + at % length[:, None]].float()

    def _read_crops(self, rows: IntArray, draws: NDArray[np.float32], frames: int) -> torch.Tensor:
        batch = np.empty((len(rows), frames, self.data.bands), self.data.dtype)
        length = self.data.length[rows]
        latest = np.maximum(length - frames, 0)
        first = (draws * (latest + 1).astype(np.float32)).astype(np.int64)
        for at, row in enumerate(rows.tolist()):
            if length[at] >= frames:
                batch[at] = self.data.utterance(row, int(first[at]), frames)
            else:
                batch[at] = self.data.utterance(row)[np.arange(frames) % length[at]]
        return self._pinned(batch)

    def whole(self, batches: Iterable[PaddedRows]) -> Generator[tuple[torch.Tensor, list[int]], None, None]:
        """Yield the whole utterances of each batch, padded with zeros, and how many frames each has."""
        if self.place.type == "cpu":
            yield from map(self._read_whole, batches)
            return
        with closing(_read_ahead(self._read_whole, batches)) as ready:
            for batch, lengths in ready:
                yield batch.to(self.place, non_blocking=True).float(), lengths

    def _read_whole(self, padded: PaddedRows) -> tuple[torch.Tensor, list[int]]:
        lengths = [int(self.data.length[row]) for row in padded.rows]
        on_device = self.place.type != "cpu"
        dtype = self.data.dtype if on_device else np.dtype(np.float32)
        batch = np.zeros((len(lengths), padded.frames, self.data.bands), dtype)
        for at, row in enumerate(padded.rows):
            batch[at, : lengths[at]] = self.data.utterance(row)
        return self._pinned(batch), lengths

    def _pinned(self, batch: NDArray[Any]) -> torch.Tensor:
        """Return an array as a tensor, in memory from which a GPU copies while it computes."""
        tensor = torch.from_numpy(batch)
        return tensor.pin_memory() if self.place.type == "cuda" else tensor


def _read_ahead(read: Callable[[Part], Result], parts: Iterable[Part]) -> Generator[Result, None, None]:
    """Yield what is read for each part, in order, by threads before it is asked for."""
    pool = ThreadPoolExecutor(_READERS)
    waiting: deque[Future[Result]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(read, part))
            if len(waiting) > _READERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class PaddedRows:
    """Utterances that are computed together, and the frames that they are padded to."""

    rows: list[int]
    frames: int


def padded_batches(length: IntArray, order: Sequence[int], most: int, frames: int | None) -> list[PaddedRows]:
    """Return batches of utterances of similar length.

    Parameters
    ----------
    length
        Frames of each utterance.
    order
        The utterances, longest first.
    most
        Most utterances of a batch.
    frames
        Most frames of a batch, unless a single utterance has more. Batches are then padded to few different lengths: a
        GPU chooses its kernels for each shape anew, which takes longer than computing some more frames. None for no
        limit, and no more padding than the longest utterance needs.

    Examples
    --------
    >>> [(batch.rows, batch.frames) for batch in padded_batches(np.array([90, 100, 40]), [1, 0, 2], 2, None)]
    [([1, 0], 100), ([2], 40)]
    >>> [(batch.rows, batch.frames) for batch in padded_batches(np.array([90, 100, 40]), [1, 0, 2], 9, 250)]
    [([1, 0], 104), ([2], 40)]
    """
    batches, done = [], 0
    while done < len(order):
        longest = int(length[order[done]])
        padded = longest if frames is None else rounded_up(longest)
        count = most if frames is None else max(1, min(most, frames // padded))
        batches.append(PaddedRows(list(order[done : done + count]), padded))
        done += count
    return batches


def rounded_up(frames: int) -> int:
    """Return the next larger of few numbers of frames: eight between a power of two and the next.

    Examples
    --------
    >>> [rounded_up(frames) for frames in (7, 100, 129, 512, 513)]
    [8, 104, 144, 512, 576]
    """
    step = max(8, 1 << (frames.bit_length() - 1) >> 3)
    return -(-frames // step) * step


def augment(crops: torch.Tensor, settings: TrainingSettings, step: StepDraws) -> torch.Tensor:
    """Return features with a random noise floor, centred again, and with a random band masked."""
    bands = crops.shape[2]
    if step.floor is not None:
        depth = 3.0 + settings.floor * step.floor
        level = crops.mean(dim=1, keepdim=True) - depth * crops.std(dim=1, keepdim=True)
        crops = torch.logaddexp(crops, level)
    crops = crops - crops.mean(dim=1, keepdim=True)
    if step.mask is not None:
        width = max(1, round(settings.band_mask * bands))
        lowest = (step.mask * (bands - width + 1)).long()
        band = torch.arange(bands, device=crops.device)
        crops = crops.masked_fill((band >= lowest) & (band < lowest + width), 0.0)
    return crops
