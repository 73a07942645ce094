"""Engines: classes that compute the evidence of runs of trials, and the choice of one for a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.linkage.evidence import TrialEvidence
from zeroevidence.linkage.inputs import VectorSet
from zeroevidence.linkage.plan import AUTO, EngineName, EnrolmentMoments, Precision, SearchPlan, enrolment_moments
from zeroevidence.optional import present
from zeroevidence.registry import Registry
from zeroevidence.run import Run

Runs: TypeAlias = Sequence[tuple[int, int]]  # of trials: from, up to
_RUN_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Requirements:
    """Properties of a search that an engine must be able to handle."""

    dim: int
    double: bool  # single precision would lose digits of the vectors, or double was asked for
    function: bool  # scores come from a function, not from a dot product
    precision: Precision | None = None  # of the products' inputs that was asked for


class Linker(Protocol):
    """Computes runs of trials of one search, and keeps between calls what it prepared."""

    def rows(self, rows: IntArray) -> TrialEvidence:
        """Return the evidence of some trials."""


class Engine(ABC):
    """One way to compute a search.

    A module of this package registers its engine with `register`. A class from anywhere else becomes an engine in the
    same way: `link` and the command line then know its name.
    """

    name: ClassVar[EngineName]
    needs: ClassVar[str] = "nothing"  # in words, for tables
    modules: ClassVar[tuple[str, ...]] = ()  # that it imports
    extra: ClassVar[str | None] = None  # optional part of this package that brings them
    precisions: ClassVar[tuple[str, ...]] = ("float32", "float64")  # of the products' inputs
    sums: ClassVar[type[np.floating[Any]] | None] = None  # precision of the products, if it is always the same
    functions: ClassVar[bool] = False  # whether it takes any scoring function

    def available(self) -> bool:
        """Return whether the modules that it imports are installed."""
        return all(present(module) for module in self.modules)

    def moments(self, enrol: VectorSet, run: Run) -> EnrolmentMoments | None:  # noqa: ARG002
        """Moments of the enrolment, computed where this engine needs them; None if it does without."""
        return enrolment_moments(enrol)

    def run_trials(self, dim: int) -> int:
        """Trials computed together unless the caller chooses: their vectors fit a modest memory."""
        return max(1024, _RUN_BYTES // (8 * dim))

    def device_rate(self, dim: int, run: Run) -> float | None:  # noqa: ARG002
        """Operations per second of products on a device, None where the processor multiplies."""
        return None

    @abstractmethod
    def compute(self, plan: SearchPlan, runs: Runs, run: Run) -> Iterator[tuple[int, TrialEvidence]]:
        """Yield the evidence of runs of trials with their index in `runs`, in the order in which they are done."""


class LocalEngine(Engine):
    """An engine of this machine, which computes one run of trials after the other."""

    @abstractmethod
    def priority(self, requirements: Requirements) -> int:
        """Rank among the engines of this machine for such a search, the fastest highest; 0: only if named."""

    @abstractmethod
    def linker(self, plan: SearchPlan, run: Run) -> Linker:
        """Return the linker of one search."""

    def compute(self, plan: SearchPlan, runs: Runs, run: Run) -> Iterator[tuple[int, TrialEvidence]]:
        """Yield the evidence of runs of trials, in their order."""
        linker = self.linker(plan, run)
        for index, (start, stop) in enumerate(runs):
            yield index, linker.rows(np.arange(start, stop))


ENGINES: Registry[Engine] = Registry("engine", package="zeroevidence.linkage.engines", order=lambda engine: engine.name)
_E = TypeVar("_E", bound=type[Engine])


def register(engine: _E) -> _E:
    """Register an engine; a decorator of its class."""
    ENGINES.add(engine())
    return engine


def engine_names() -> tuple[EngineName, ...]:
    """Names that may be asked for: "auto", or that of an engine."""
    return AUTO, *ENGINES


def choose(name: EngineName, requirements: Requirements) -> Engine:
    """Return the engine of that name, or the best one here; an error says why it cannot do this search."""
    if name == AUTO:
        return best(requirements)
    engine = ENGINES.find(name)
    reason = refusal(engine, requirements)
    if reason is not None:
        raise UsageError(reason)
    if not engine.available():
        if engine.extra is not None:
            raise MissingExtra(engine.extra, f"the engine {name}")
        raise UsageError(f"the engine {name} needs {engine.needs}")
    return engine


def best(requirements: Requirements) -> LocalEngine:
    """Return the fastest engine of this machine that keeps the precision."""
    refusals = {name: refusal(engine, requirements) for name, engine in ENGINES.items()}
    able = (engine for name, engine in ENGINES.items() if refusals[name] is None and engine.available())
    priorities = {engine: engine.priority(requirements) for engine in able if isinstance(engine, LocalEngine)}
    engine = max(priorities, key=priorities.__getitem__, default=None)
    if engine is not None and priorities[engine] > 0:
        return engine
    raise UsageError(next(filter(None, refusals.values()), "no engine of this machine suits this search; name one"))


def refusal(engine: Engine, requirements: Requirements) -> str | None:
    """Return why an engine cannot do such a search on any machine, None if it can."""
    if requirements.function and not engine.functions:
        able = " and ".join(name for name, other in ENGINES.items() if other.functions)
        return f"a scoring function works with the engines {able}, not {engine.name}"
    dtype = f"float{requirements.precision}"
    if requirements.precision is None or dtype in engine.precisions:
        return None
    able = " or ".join(name for name, other in ENGINES.items() if dtype in other.precisions)
    if able:
        return f"products of {dtype} inputs need the engine {able}"
    precisions = sorted({precision for other in ENGINES.values() for precision in other.precisions})
    return f"expected products of {' or '.join(precisions)} inputs, got {dtype}"
