"""Mean and covariance of the enrolment vectors, which give mean and deviation of each row of scores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.linkage.inputs.vectors import VectorSet
from zeroevidence.linkage.optional import one_blas_thread

_SAMPLE = 1024
_BLOCK_BYTES = 1 << 20  # worked on at once: stays in cache
_RUNS = 16  # fixed, so that the order of additions does not depend on the number of threads
_GRID = 2.0**-6  # of the largest entry
_DOUBTFUL = 1e-7  # of |x|^2 tr(C): below, rounding of x' C x shows in the deviation


@dataclass(frozen=True, slots=True, eq=False)
class EnrolmentMoments:
    """First and second moments of centred enrolment vectors.

    `centre` lies near their mean on a coarse binary grid. Taking it off makes products small, hence exact in short
    number formats; being coarse, it leaves vectors of few digits (counts, signs, one-hot) with few digits, so that
    scores that tie still tie.
    """

    count: int
    centre: FloatArray
    mean: FloatArray  # of the centred vectors
    covariance: FloatArray
    longest: float  # length of the longest centred vector

    def of_rows(self, x: FloatArray, ddof: int) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Mean and deviation of the rows of centred scores, and which of them rounding may have spoilt."""
        return self.of_products(
            x @ self.mean, np.einsum("ij,ij->i", x @ self.covariance, x), np.einsum("ij,ij->i", x, x), ddof
        )

    def of_products(
        self, mean: FloatArray, variance: FloatArray, square: FloatArray, ddof: int, xp: Any = np
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The same from ``x . m``, ``x' C x`` and ``x . x``, which are arrays of the module `xp`."""
        scale = square * float(np.trace(self.covariance) + self.mean @ self.mean)
        doubtful = ~(variance > _DOUBTFUL * scale)
        deviation = xp.sqrt(variance.clip(min=0.0) * (self.count / (self.count - ddof)))
        return mean, deviation, doubtful


def sampled_centre(enrol: VectorSet) -> FloatArray:
    """Return a point of the grid near the mean of vectors taken at even steps."""
    sample = enrol.take(np.unique(np.linspace(0, enrol.count - 1, _SAMPLE).astype(np.int64)))
    largest = float(np.abs(sample).max())
    step = 2.0 ** np.ceil(np.log2(largest)) * _GRID if largest > 0.0 else 1.0
    centre: FloatArray = np.round(sample.mean(axis=0) / step) * step
    return centre


def enrolment_moments(enrol: VectorSet) -> EnrolmentMoments:
    """Moments by one pass over the enrolment vectors: threads take runs of blocks, added up in their order."""
    centre = sampled_centre(enrol)
    blocks = list(enrol.blocks(max(64, _BLOCK_BYTES // (8 * enrol.dim))))
    runs = [blocks[at::_RUNS] for at in range(min(_RUNS, len(blocks)))]

    def sums(run: Sequence[tuple[int, int]]) -> tuple[FloatArray, FloatArray, float]:
        first, second, longest = np.zeros(enrol.dim), np.zeros((enrol.dim, enrol.dim)), 0.0
        for start, stop in run:
            block = enrol.read(start, stop)
            block -= centre
            first += np.ones(len(block)) @ block
            second += block.T @ block
            longest = max(longest, float(np.einsum("ij,ij->i", block, block).max()))
        return first, second, longest

    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        parts = list(pool.map(sums, runs))
    mean = np.sum([part[0] for part in parts], axis=0) / enrol.count
    second = np.sum([part[1] for part in parts], axis=0) / enrol.count
    longest = float(np.sqrt(max(part[2] for part in parts)))
    return EnrolmentMoments(enrol.count, centre, mean, second - np.outer(mean, mean), longest)
