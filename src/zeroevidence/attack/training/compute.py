"""Passes through a network, as fast as the machine allows: threads, CUDA graphs and their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.training.crops import UtteranceFrames, padded_batches
from zeroevidence.attack.training.features import EncoderOutputs, FrameSet
from zeroevidence.errors import UsageError
from zeroevidence.run import Run, available_cores

Part = TypeVar("Part")
Result = TypeVar("Result")


def on_cores(compute: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Return the results of a function for each part, in order; inside `torch_threads(1)` each part takes one core."""
    if len(parts) == 1 or available_cores() == 1:
        return [compute(part) for part in parts]
    return list(_pool().map(compute, parts))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="training")


class AdaptiveBatchSize:
    """Number of utterances that are computed at once on a device; halved whenever its memory is too small.

    Parameters
    ----------
    size
        Number to start with.
    run
        Messages whenever it is halved.
    """

    def __init__(self, size: int, run: Run) -> None:
        self.size, self.say = size, run.say

    def attempt(self, compute: Callable[[], Result]) -> Result | None:
        """Return the result of a function, or None where memory was too small and `size` was halved.

        Raises
        ------
        UsageError
            When a single utterance did not fit.
        """
        try:
            return compute()
        except torch.OutOfMemoryError:
            pass  # what the failed attempt holds is free only behind this block
        if self.size == 1:
            raise UsageError("the memory of the device is too small for one utterance; a shorter crop needs less")
        self.size //= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.say(f"the memory of the device is too small: {self.size} utterances at a time from here on")
        return None


Gradients = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_WARM_UP = 3  # calls before recording, in which libraries choose their kernels


class RecordedStep:
    """Gradients of batches of one size, replayed from a CUDA graph.

    Parameters
    ----------
    gradients
        Computes the loss of crops and labels and leaves gradients at the parameters, which must hold none before.
    optimiser
        Has the parameters.
    crops
        Crops of the first batch; others must have its size.
    labels
        Labels of the first batch.
    """

    def __init__(
        self, gradients: Gradients, optimiser: torch.optim.Optimizer, crops: torch.Tensor, labels: torch.Tensor
    ) -> None:
        self.crops, self.labels = crops.clone(), labels.clone()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                optimiser.zero_grad(set_to_none=True)
                gradients(self.crops, self.labels)
        torch.cuda.current_stream().wait_stream(stream)
        # Gradients made while recording live in the graph's own memory, and every replay overwrites them.
        optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = gradients(self.crops, self.labels)
        parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
        self.gradients = [(parameter, parameter.grad) for parameter in parameters]

    def __call__(self, crops: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch; its gradients are at the parameters."""
        self.crops.copy_(crops)
        self.labels.copy_(labels)
        self.graph.replay()
        for parameter, gradient in self.gradients:  # a batch of another size may have put its own there
            parameter.grad = gradient
        return self.loss


Compute: TypeAlias = Callable[[torch.Tensor, list[int]], list[Any]]
# that a GPU computes at once: with fewer frames, starting kernels takes longer than running them
_UTTERANCES, _FRAMES = 2048, 3 << 16


def precision(place: torch.device) -> Any:
    """Return the context in which a network is computed on a device."""
    if place.type == "cuda":
        # weights that were cast before a recording must not be taken for those of a replay
        return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)
    return nullcontext()


class EncoderPasses:
    """Passes of an encoder over utterances, without learning.

    Parameters
    ----------
    network
        The encoder.
    place
        Its device.
    last
        Whether what `network.frames` gives is computed once, and only `network.pooled` after it.
    outputs
        What the encoder made of some of the utterances before training, where that is known.
    half
        Whether a GPU computes in half precision, as in training.
    run
        Messages where less fits into the memory of the device than is usual.
    """

    def __init__(
        self,
        network: Any,
        place: torch.device,
        *,
        last: bool = False,
        outputs: EncoderOutputs | None = None,
        half: bool = True,
        run: Run = Run(),
    ) -> None:
        self.network, self.place, self.last, self.half = network, place, last, half
        self.outputs = outputs
        # Without a GPU one at a time: padding would only be work.
        self.size = AdaptiveBatchSize(_UTTERANCES if place.type == "cuda" else 1, run)

    def source(self, data: FrameSet, folder: Path | None = None) -> UtteranceFrames:
        """Return what is learned from: the features, or with `last` the output of the trunk.

        Parameters
        ----------
        data
            The features.
        folder
            Where a file holds the output of the trunk if it is large.
        """
        features = UtteranceFrames(data, self.place)
        if not self.last:
            return features
        lengths = np.array([int(self.network.frame_lengths(int(length))) for length in data.length], dtype=np.int64)
        outputs = self._trunk_outputs(features, lengths)
        gathered = FrameSet.gather(outputs, lengths, data, None if features.is_held else folder)
        return UtteranceFrames(gathered, self.place)

    def _trunk_outputs(self, features: UtteranceFrames, lengths: IntArray) -> Iterator[tuple[int, Any]]:
        """Yield the output of the trunk for each utterance, in half precision; those that are known come first."""
        unknown = []
        for row, digest in enumerate(features.data.digests):
            kept = None if self.outputs is None else self.outputs.frames(digest)
            if kept is not None and len(kept) == lengths[row]:
                yield row, _halved(kept)
            else:
                unknown.append(row)
        yield from self._each(features, self._trunk, unknown)

    def embed_untrained(self, source: UtteranceFrames) -> FloatArray:
        """Return the embeddings before training, which may be known."""
        kept = [None if self.outputs is None else self.outputs.vector(digest) for digest in source.data.digests]
        vectors = [vector for vector in kept if vector is not None]
        return np.array(vectors, np.float64) if len(vectors) == len(source) else self.embed(source)

    def embed(self, source: UtteranceFrames) -> FloatArray:
        """Return the embeddings of whole utterances."""
        forward = self.network.pooled if self.last else self.network

        def compute(frames: torch.Tensor, lengths: list[int]) -> list[FloatArray]:
            return list(np.asarray(forward(frames, lengths).float().cpu().numpy(), np.float64))

        vectors = dict(self._each(source, compute, range(len(source))))
        return np.stack([vectors[row] for row in range(len(source))])

    def _trunk(self, feats: torch.Tensor, lengths: list[int]) -> list[Any]:
        outputs = self.network.frames(feats, lengths).float().cpu().numpy()
        ends = self.network.frame_lengths(lengths)
        return [_halved(output[: int(end)]) for output, end in zip(outputs, ends, strict=True)]

    def _each(self, source: UtteranceFrames, compute: Compute, rows: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Yield what a function gives for each of these utterances; the longest come first."""
        self.network.eval()
        length = source.data.length
        order = sorted(rows, key=lambda row: (-length[row], row))
        on_gpu = self.place.type == "cuda"
        together = 1 if on_gpu else available_cores()
        done = 0
        while done < len(order):
            frames = _FRAMES if self.half else _FRAMES // 2  # single precision takes twice the memory
            batches = padded_batches(length, order[done:], self.size.size, frames if on_gpu else None)
            with closing(source.whole(batches)) as ready:
                for first in range(0, len(batches), together):
                    some = batches[first : first + together]
                    inputs = [next(ready) for _ in some]
                    outputs = self.size.attempt(partial(on_cores, partial(self._compute, compute), inputs))
                    if outputs is None:
                        break
                    for batch, output in zip(some, outputs, strict=True):
                        yield from zip(batch.rows, output, strict=True)
                        done += len(batch.rows)

    def _compute(self, compute: Compute, padded: tuple[torch.Tensor, list[int]]) -> list[Any]:
        with torch.no_grad(), precision(self.place) if self.half else nullcontext():
            return compute(*padded)


def _halved(frames: NDArray[np.float32]) -> NDArray[np.float16]:
    """Return frames in half precision, the largest number that it has for larger ones."""
    most = np.finfo(np.float16).max
    return np.clip(frames, -most, most).astype(np.float16)
