"""Engines on NumPy: `numpy` multiplies blocks of trials and identities, `rows` takes any scoring function."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.linkage import evidence
from zeroevidence.linkage.engines import Linker, LocalEngine, Requirements, register
from zeroevidence.linkage.inputs import VectorSet
from zeroevidence.linkage.plan import EnrolmentMoments, SearchPlan
from zeroevidence.measure.softplus import HAS_EXP, HAS_EXP2, by_exp2, powers_by_numpy
from zeroevidence.optional import one_blas_thread, optional, present
from zeroevidence.run import Run

LARGEST_ERROR = 4e-6  # relative, for numbers from -60 to 60, of any of these methods
_LN2 = np.float32(np.log(2.0))
_TORCH_BLOCK = 1 << 14  # few enough for torch not to start threads of its own
_PAYS = 1 << 30  # exponentials that are worth importing torch
_VECTORISED = HAS_EXP or HAS_EXP2


def powers_of_two(count: float) -> Callable[[FloatArray], None]:
    """Return a function that replaces the numbers of a contiguous array by powers of two; `count` are expected in all.

    NumPy has vector instructions for them on x86. Elsewhere it computes one at a time, and torch, where it is
    installed, is faster. (A polynomial in NumPy, in blocks that stay in cache, was tried: its fourteen passes gain next
    to nothing.)

    The choice depends on processor, installed packages and `count` alone, so that the same search gives the same
    digits.
    """
    return by_torch if not _VECTORISED and count >= _PAYS and present("torch") else powers_by_numpy()


def by_torch(powers: FloatArray) -> None:
    """By torch's exponential."""
    torch = optional("torch", "torch", "exponentials")
    powers *= _LN2
    flat = torch.from_numpy(powers.reshape(-1))
    for start in range(0, len(flat), _TORCH_BLOCK):
        flat[start : start + _TORCH_BLOCK].exp_()


class WholeRowLinker:
    """Computes runs of trials of one search with any scoring.

    Where the scoring is not a dot product, mean and deviation of a row need a first pass over its scores, and
    everything else a second, both over rows that are in memory.
    """

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan

    def rows(self, rows: IntArray) -> evidence.TrialEvidence:
        """Return the evidence of some trials."""
        blocks = evidence.score_rows(self.plan, rows)
        return evidence.TrialEvidence.join([self._block(rows[part], scores) for part, scores in blocks])

    @np.errstate(over="ignore", invalid="ignore")
    def _block(self, rows: IntArray, scores: FloatArray) -> evidence.TrialEvidence:
        plan = self.plan
        index, mated = np.arange(len(rows)), plan.mated[rows]
        score = scores[index, mated]
        greater = (scores > score[:, None]).sum(axis=1)
        equal = (scores == score[:, None]).sum(axis=1) - 1
        top = scores.argmax(axis=1)
        fires = np.full(len(rows), -1)
        if plan.threshold is not None:
            fires = (scores > plan.threshold[rows][:, None]).sum(axis=1)
        scores[index, mated] = -np.inf
        best = scores.max(axis=1)
        scores[index, mated] = score
        mean, deviation = evidence.centred(scores, plan.options.ddof)
        slope = evidence.calibrated_slope(plan, plan.weight[rows], deviation)
        scores *= slope[:, None]
        high = scores.max(axis=1)
        log_sum = high + np.log(np.exp(scores - high[:, None]).sum(axis=1))
        lid = np.where(slope == 0.0, 0.0, (scores[index, mated] - log_sum + np.log(plan.identities)) / evidence.LN2)
        log_sum += plan.bias[rows] + evidence.removed_level(plan, slope, mean)
        arrays = score, mean, deviation, log_sum, lid, greater, equal, best, top, fires
        return evidence.check_range(plan, rows, evidence.TrialEvidence(plan.identities, *arrays))


@register
class WholeRowEngine(LocalEngine):
    """Every score of a row at once; slow, and takes any scoring function."""

    name = "rows"
    precisions = ("float64",)
    sums = np.float64
    functions = True

    def priority(self, requirements: Requirements) -> int:
        """Return a priority above NumPy's for scoring functions."""
        return 20 if requirements.function else 0

    def moments(self, enrol: VectorSet, run: Run) -> EnrolmentMoments | None:  # noqa: ARG002
        """Return None: mean and deviation follow from the scores."""
        return None

    def linker(self, plan: SearchPlan, run: Run) -> WholeRowLinker:  # noqa: ARG002
        """Return the linker of one search."""
        return WholeRowLinker(plan)


_ROWS = 1024  # trials multiplied at once, at most
_SHARES = 4  # parts of blocks for each thread, at least, so that all have work until the end
_LEAST = 1 << 20  # products of a part: smaller ones cost more each
_TOGETHER = 48  # rows: BLAS computes 4 to 16 at once and rounds those left over in another way, so parts leave none
_COLUMNS = 8160  # identities multiplied at once, about
_LINE = 16  # single-precision numbers of a cache line; rows of products are aligned to it
_PREPARED = 512  # enrolment vectors that a thread centres at once
_ANCHORED = 128  # true identities' products computed at once
_SAMPLED = 64  # vectors that show whether all have few digits
_LOW_BITS = np.uint32(0xFFF)  # of a number in single precision
_GROUP_BYTES = 1 << 20  # products that a thread works on at once: about a second-level cache
_KEPT_BYTES = 1 << 28  # prepared enrolment vectors kept between blocks of trials
_PANEL_BYTES = 1 << 26  # enrolment vectors read and prepared at once
_SAFE = {4: 100.0, 8: 900.0}  # powers of two whose sums do not overflow, by bytes of a number


class NumpyLinker:
    """Computes runs of trials of one search; the result does not depend on the number of threads.

    Each thread multiplies its block of trials with a run of enrolment vectors; groups of rows of the products, small
    enough for a cache, are then compared, counted, exponentiated and summed. Only a few numbers per trial remain.
    """

    def __init__(self, plan: SearchPlan, *, threads: int = 1) -> None:
        self.plan, self.threads = plan, threads
        self.fold = plan.dtype == np.float32 and not (_few_digits(plan.trial) or _few_digits(plan.enrol))
        self._kept: dict[int, FloatArray] = {}

    def rows(self, rows: IntArray) -> evidence.TrialEvidence:
        """Return the evidence of some trials."""
        plan = self.plan
        local = threading.local()
        width = _even(plan.identities, _COLUMNS, _LINE)
        step = _even(len(rows), _ROWS)
        share = min(_ROWS, max(-(-_LEAST // width), -(-len(rows) // (_SHARES * self.threads))))
        share = -(-share // _TOGETHER) * _TOGETHER
        exponential = powers_of_two(plan.trials * plan.identities) if plan.dtype == np.float32 else by_exp2

        def prepared(start: int) -> NumpyBlock:
            block = NumpyBlock(plan, rows[start : start + step], exponential, fold=self.fold)
            if plan.identities > width:
                block.anchor()
            return block

        def add(first: int, panel: FloatArray, part: tuple[NumpyBlock, slice]) -> None:
            if not hasattr(local, "buffer"):
                local.buffer = np.empty(share * width, plan.dtype)
            block, here = part
            for at in range(0, len(panel), width):
                block.add(here, panel[at : at + width], first + at, local.buffer)

        with one_blas_thread(), ThreadPoolExecutor(self.threads) as pool:
            blocks = list(pool.map(prepared, range(0, len(rows), step)))
            parts = [(block, here) for block in blocks for here in block.parts(share)]
            for first, panel in self._panels(width, pool):
                list(pool.map(partial(add, first, panel), parts))
            return evidence.TrialEvidence.join(list(pool.map(NumpyBlock.finish, blocks)))

    def _panels(self, width: int, pool: ThreadPoolExecutor) -> Iterator[tuple[int, FloatArray]]:
        """Runs of centred enrolment vectors in the precision of the products."""
        plan = self.plan
        assert plan.moments is not None
        centre = plan.moments.centre
        itemsize = plan.enrol.dim * plan.dtype.itemsize
        keep = plan.identities * itemsize <= _KEPT_BYTES
        for start, stop in plan.enrol.blocks(width * max(1, _PANEL_BYTES // (width * itemsize))):
            panel = self._kept.get(start)
            if panel is None:
                panel = np.empty((stop - start, plan.enrol.dim), plan.dtype)
                list(pool.map(partial(self._prepare, panel, start, centre), range(start, stop, _PREPARED)))
                if keep:
                    self._kept[start] = panel
            yield start, panel

    def _prepare(self, panel: FloatArray, start: int, centre: FloatArray, at: int) -> None:
        here = slice(at - start, min(at - start + _PREPARED, len(panel)))
        np.subtract(self.plan.enrol.read(at, start + here.stop), centre, out=panel[here], casting="same_kind")


def _even(count: int, most: int, multiple: int = 1) -> int:
    """Length of even runs of about `most` items, rounded up to a multiple of `multiple`."""
    return -(-count // (-(-count // most) * multiple)) * multiple


def _few_digits(side: VectorSet) -> bool:
    """Whether vectors (counts, signs, half precision) have so few digits that products of different ones can tie.

    A scale that is no power of two would then break the ties.
    """
    some = side.take(np.unique(np.linspace(0, side.count - 1, _SAMPLED).astype(np.int64))).astype(np.float32)
    return float(np.mean(some.view(np.uint32) & _LOW_BITS == 0)) > 0.5


class NumpyBlock:
    """Sums and counts so far of a block of trials.

    Where it may (`fold`), the scale of the exponents goes into the trial vectors, and the products are the exponents.
    The result of a trial does not depend on the others of its block.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(
        self, plan: SearchPlan, rows: IntArray, exponential: Callable[[FloatArray], None], *, fold: bool
    ) -> None:
        self.plan, self.indices, self.exponential = plan, rows, exponential
        self.terms, x, mated_vectors = evidence.row_terms(plan, rows)
        power = self.terms.slope / evidence.LN2  # exponentials are taken as powers of two
        self.scale: FloatArray = np.where(fold & (power > 0.0), power, 1.0)
        self.x: FloatArray = (x * self.scale[:, None]).astype(plan.dtype)
        self.mated_vectors: FloatArray = mated_vectors.astype(plan.dtype)
        self.mated = plan.mated[rows]
        count, dtype = len(rows), plan.dtype
        self.mated_products = np.zeros(count, dtype)  # the true identity's product, as the product routine rounds it
        self.power = (power / self.scale).astype(dtype)
        self.folded = bool((self.power == 1.0).all())
        limit = None if plan.threshold is None else plan.threshold[rows] - self.terms.offset
        self.limit = None if limit is None else (limit * self.scale).astype(dtype)
        self.log_others = np.full(count, -np.inf)
        self.best, self.best_at = np.full(count, -np.inf), np.zeros(count, np.int64)
        self.greater, self.equal, self.fires = (np.zeros(count, np.int64) for _ in range(3))
        # of the panel at hand
        self.leader, self.top = np.zeros(count, np.intp), np.zeros(count, dtype)
        self.sums, self.origin = np.zeros(count, dtype), np.zeros(count)
        self.here, self.column = np.zeros(count, bool), np.zeros(count, np.int64)

    @np.errstate(over="ignore", invalid="ignore")
    def anchor(self) -> None:
        """Compute the products of the true identities in advance, by the same routine, so that ties are recognised."""
        for start in range(0, len(self.x), _ANCHORED):
            part = slice(start, start + _ANCHORED)
            mated = self.mated_vectors[part]
            padded = np.resize(mated, (_ANCHORED, mated.shape[1]))  # small products take other routines
            self.mated_products[part] = (self.x[part] @ padded.T)[np.arange(len(mated)), np.arange(len(mated))]
        self.mated_vectors = self.mated_vectors[:0]

    def parts(self, trials: int) -> list[slice]:
        """Even runs of at most so many of its trials, which are a multiple of what BLAS computes together."""
        step = _even(len(self.x), trials, _TOGETHER)
        return [slice(at, min(at + step, len(self.x))) for at in range(0, len(self.x), step)]

    @np.errstate(over="ignore", invalid="ignore")
    def add(self, part: slice, panel: FloatArray, first: int, buffer: FloatArray) -> None:
        """Take in a run of identities, the first of them numbered `first`, for a run of its trials."""
        x = self.x[part]
        products = buffer[: len(x) * len(panel)].reshape(len(x), len(panel))
        np.matmul(x, panel.T, out=products)
        self.begin(part, products, first)
        step = max(1, _GROUP_BYTES // products[0].nbytes)
        flags = ComparisonCounter(step, len(panel))
        for at in range(0, len(products), step):
            group = products[at : at + step]
            self.work(group, slice(part.start + at, part.start + at + len(group)), flags)
        self.end(part, first)

    def begin(self, part: slice, products: FloatArray, first: int) -> None:
        """Find the true identities among the columns and take them out."""
        self.origin[part] = 0.0
        column = self.column[part] = self.mated[part] - first
        self.here[part] = (column >= 0) & (column < products.shape[1])
        (at,) = self.here[part].nonzero()
        self.mated_products[part.start + at] = products[at, column[at]]
        products[at, column[at]] = -np.inf

    def work(self, products: FloatArray, group: slice, flags: ComparisonCounter) -> None:
        """Compare, count and sum a group of rows of the products, which are overwritten."""
        # few calls: between two of them a thread may wait for the interpreter
        mated, leader = self.mated_products[group, None], self.leader[group]
        products.argmax(axis=1, out=leader)
        top = self.top[group] = products[flags.lines[: len(products)], leader]
        (behind,) = (top >= mated[:, 0]).nonzero()
        if 2 * len(behind) > len(products):
            self.greater[group] += flags.count(np.greater, products, mated)
            self.equal[group] += flags.count(np.equal, products, mated, rare=True)
        elif len(behind):
            # only rows whose true identity is not ahead have anything to count
            rows = group.start + behind
            self.greater[rows] += flags.count(np.greater, products[behind], mated[behind])
            self.equal[rows] += flags.count(np.equal, products[behind], mated[behind], rare=True)
        if self.limit is not None and (top > self.limit[group]).any():
            self.fires[group] += flags.count(np.greater, products, self.limit[group, None])
        if not self.folded or top.max() > _SAFE[products.dtype.itemsize]:
            self.scaled(products, group)
        self.exponential(products)  # the true identity's is 0 now
        self.sums[group] = np.einsum("ij->i", products)

    def scaled(self, products: FloatArray, group: slice) -> None:
        """Make exponents of a group of rows; of some the largest is taken off first, so that sums do not overflow."""
        power, safe = self.power[group], _SAFE[products.dtype.itemsize]
        (here,) = self.here[group].nonzero()
        at = here, self.column[group][here]
        products[at] = 0.0
        reach = power * self.top[group]
        if reach.max() > safe or power.min() < 0.0:
            high = np.where(power < 0.0, power * products.min(axis=1), reach)
            high[(power >= 0.0) & (reach <= safe)] = 0.0
            products *= power[:, None]
            products -= high[:, None]
            self.origin[group] = high
        else:
            products *= power[:, None]
        products[at] = -np.inf

    def end(self, part: slice, first: int) -> None:
        """Merge the results of the groups of a panel."""
        better = part.start + (self.top[part] > self.best[part]).nonzero()[0]
        self.best[better] = self.top[better]
        self.best_at[better] = self.leader[better] + first
        with np.errstate(divide="ignore"):
            log_sums = np.log(self.sums[part].astype(np.float64)) + self.origin[part] * evidence.LN2
        self.log_others[part] = np.logaddexp(self.log_others[part], log_sums)

    @np.errstate(over="ignore", invalid="ignore")
    def finish(self) -> evidence.TrialEvidence:
        """Return the evidence, once all panels are in."""
        others = evidence.OtherIdentities(
            log_sum=self.log_others - self.terms.slope * self.terms.mean,
            greater=self.greater,
            equal=self.equal,
            best=self.best / self.scale,
            best_at=self.best_at,
            # the true identity was taken out above
            fires=None if self.limit is None else self.fires + (self.mated_products > self.limit),
            rounded=self.mated_products / self.scale if self.plan.dtype == np.float32 else None,
        )
        return evidence.finish(self.plan, self.indices, self.terms, others)


class ComparisonCounter:
    """Comparisons of a group of rows, counted by row.

    Flags are bytes of 0 and 1. Eight of them are added at a time, as one word; a run of 255 words cannot carry from
    one byte into the next, and is what a row is cut into, zeros filling the last.
    """

    _WORDS = 255

    def __init__(self, rows: int, columns: int) -> None:
        self.runs = -(-columns // (8 * self._WORDS))
        self.padded = np.zeros((rows, 8 * self._WORDS * self.runs), bool)
        self.used = self.padded[:, :columns]
        self.packed = self.padded.view(np.uint64).reshape(rows * self.runs, self._WORDS)
        self.lines = np.arange(rows)

    def count(
        self, compare: Callable[..., object], products: FloatArray, limit: FloatArray, *, rare: bool = False
    ) -> IntArray | int:
        """How many products of each row compare with its limit."""
        rows = len(products)
        compare(products, limit, out=self.used[:rows])
        if rare and not self.padded[:rows].any():
            return 0
        packed = np.add.reduce(self.packed[: rows * self.runs], axis=1)
        sums: IntArray = np.add.reduce(packed.view(np.uint8).reshape(rows, 8 * self.runs), axis=1, dtype=np.int64)
        return sums


@register
class NumpyEngine(LocalEngine):
    """Works everywhere; searches with a scoring function are passed on to whole rows."""

    name = "numpy"
    functions = True

    def priority(self, requirements: Requirements) -> int:  # noqa: ARG002
        """Return a low priority: engines made for the search at hand are faster."""
        return 10

    def linker(self, plan: SearchPlan, run: Run) -> Linker:
        """Return the linker of one search."""
        return NumpyLinker(plan, threads=run.workers) if plan.options.function is None else WholeRowLinker(plan)
