"""What an encoder makes of whole utterances, those of similar length together. This module imports torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.speech.array_store import EncoderOutputs
from zeroevidence.attack.training.compute.distributed import ProcessGroup
from zeroevidence.attack.training.compute.memory import AdaptiveBatchSize
from zeroevidence.attack.training.compute.threads import on_cores
from zeroevidence.attack.training.data.crops import UtteranceFrames, padded_batches
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.forking import cores

Compute: TypeAlias = Callable[[torch.Tensor, list[int]], list[Any]]
# that a GPU computes at once: with fewer frames, starting kernels takes longer than running them
_UTTERANCES, _FRAMES = 2048, 3 << 16


def precision(place: torch.device) -> Any:
    """Return the context in which a network is computed on a device."""
    if place.type == "cuda":
        # weights that were cast before a recording must not be taken for those of a replay
        return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)
    return contextlib.nullcontext()


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
    say
        Called with a message where less fits into the memory of the device than is usual.
    group
        Processes that share the work.
    outputs
        What the encoder made of some of the utterances before training, where that is known.
    half
        Whether a GPU computes in half precision, as in training.
    """

    def __init__(
        self,
        network: Any,
        place: torch.device,
        *,
        last: bool,
        say: Callable[[str], None],
        group: ProcessGroup,
        outputs: EncoderOutputs | None = None,
        half: bool = True,
    ) -> None:
        self.network, self.place, self.last, self.group, self.half = network, place, last, group, half
        self.outputs = outputs
        # Without a GPU one at a time: padding would only be work.
        self.size = AdaptiveBatchSize(_UTTERANCES if place.type == "cuda" else 1, say)

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
        outputs = FrameSet.gather(
            self._trunk_outputs(features, lengths), lengths, data, None if features.is_held else folder
        )
        return UtteranceFrames(outputs, self.place)

    def _trunk_outputs(self, features: UtteranceFrames, lengths: IntArray) -> Iterator[tuple[int, Any]]:
        """Yield the output of the trunk for each utterance, in half precision; those that are known come first."""
        unknown = []
        for row, digest in enumerate(features.data.digests):
            known = None if self.outputs is None else self.outputs.frames(digest)
            if known is not None and len(known) == lengths[row]:
                yield row, _halved(known)
            else:
                unknown.append(row)
        yield from self._each(features, self._trunk, unknown)

    def embed_untrained(self, source: UtteranceFrames) -> FloatArray:
        """Return the embeddings before training, which may be known."""
        known = [None if self.outputs is None else self.outputs.vector(digest) for digest in source.data.digests]
        vectors = [vector for vector in known if vector is not None]
        return np.array(vectors, np.float64) if len(vectors) == len(source) else self.embed(source)

    def embed(self, source: UtteranceFrames) -> FloatArray:
        """Return the embeddings of whole utterances; each process computes some of them."""
        forward = self.network.pooled if self.last else self.network

        def compute(frames: torch.Tensor, lengths: list[int]) -> list[FloatArray]:
            return list(np.asarray(forward(frames, lengths).float().cpu().numpy(), np.float64))

        some = range(self.group.rank, len(source), self.group.size)
        vectors: dict[int, FloatArray] = {}
        for part in self.group.gather(dict(self._each(source, compute, some))):
            vectors |= part
        return np.stack([vectors[row] for row in range(len(source))])

    def _trunk(self, feats: torch.Tensor, lengths: list[int]) -> list[Any]:
        outputs = self.network.frames(feats, lengths).float().cpu().numpy()
        return [
            _halved(output[: int(length)])
            for output, length in zip(outputs, self.network.frame_lengths(lengths), strict=True)
        ]

    def _each(self, source: UtteranceFrames, compute: Compute, rows: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Yield what a function gives for each of these utterances; the longest come first."""
        self.network.eval()
        length = source.data.length
        order = sorted(rows, key=lambda row: (-length[row], row))
        on_gpu = self.place.type == "cuda"
        together = 1 if on_gpu else cores()
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
        with torch.no_grad(), precision(self.place) if self.half else contextlib.nullcontext():
            return compute(*padded)


def _halved(frames: NDArray[np.float32]) -> NDArray[np.float16]:
    """Return frames in half precision, the largest number that it has for larger ones."""
    most = np.finfo(np.float16).max
    return np.clip(frames, -most, most).astype(np.float16)
