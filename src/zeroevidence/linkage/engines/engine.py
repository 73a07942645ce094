"""Engines: what works out the evidence of runs of trials. Each registers itself, and a search asks here for one.

A module of `zeroevidence.linkage.engines` is imported with the package. A class from anywhere else becomes an engine
as well once `register` has seen it: `link` and the command line then know its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.linkage.evidence.moments import EnrolmentMoments, enrolment_moments
from zeroevidence.linkage.evidence.plan import SearchPlan
from zeroevidence.linkage.evidence.trial_evidence import TrialEvidence
from zeroevidence.linkage.inputs.vectors import VectorSet
from zeroevidence.linkage.optional import present

EngineName: TypeAlias = str  # of a registered engine, or AUTO
AUTO = "auto"
_RUN_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a search needs of an engine."""

    dim: int
    double: bool  # single precision would lose digits of the vectors, or double was asked for
    function: bool  # scores come from a function, not from a dot product


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the caller asks of an engine; None leaves it to the engine."""

    dtype: np.dtype[Any] | None = None  # of the products' inputs
    device: str | None = None
    threads: int | None = None
    scheduler: Any = None


class Linker(Protocol):
    """Works out runs of trials of one plan; what it prepared is kept between calls."""

    def rows(self, rows: IntArray) -> TrialEvidence:
        """Results of some trials."""


class Engine(ABC):
    """One way to work out a search."""

    name: ClassVar[EngineName]
    needs: ClassVar[str] = "nothing"  # in words, for tables
    modules: ClassVar[tuple[str, ...]] = ()  # that it imports
    extra: ClassVar[str | None] = None  # optional part of this package that brings them
    precisions: ClassVar[tuple[str, ...]] = ("float32", "float64")  # of the products' inputs
    sums: ClassVar[type[np.floating[Any]] | None] = None  # precision of the products, if it is always the same
    functions: ClassVar[bool] = False  # whether it takes any scoring function

    def available(self) -> bool:
        """Whether what it imports is installed here."""
        return all(present(module) for module in self.modules)

    def moments(self, enrol: VectorSet, request: EngineSettings) -> EnrolmentMoments | None:  # noqa: ARG002
        """Moments of the enrolment, where this engine wants them worked out; None if it does without."""
        return enrolment_moments(enrol)

    def run_trials(self, dim: int) -> int:
        """Trials worked out together unless the caller says: their vectors fit a modest memory."""
        return max(1024, _RUN_BYTES // (8 * dim))

    def device_rate(self, dim: int, request: EngineSettings) -> float | None:  # noqa: ARG002
        """Operations per second of products on a device, None where the processor multiplies."""
        return None

    @abstractmethod
    def run(
        self, plan: SearchPlan, runs: Sequence[tuple[int, int]], request: EngineSettings
    ) -> Iterator[tuple[int, TrialEvidence]]:
        """Results of runs of trials with their place in `runs`, in the order in which they are done."""


class LocalEngine(Engine):
    """An engine of this machine, which works out one run of trials after the other."""

    @abstractmethod
    def priority(self, requirements: Requirements) -> int:
        """How fast it is for such a search on this machine, beside other engines; 0: only if named."""

    @abstractmethod
    def linker(self, plan: SearchPlan, request: EngineSettings) -> Linker:
        """What works out the runs of one plan."""

    def run(
        self, plan: SearchPlan, runs: Sequence[tuple[int, int]], request: EngineSettings
    ) -> Iterator[tuple[int, TrialEvidence]]:
        """Results of runs of trials, in their order."""
        linker = self.linker(plan, request)
        for index, (start, stop) in enumerate(runs):
            yield index, linker.rows(np.arange(start, stop))


ENGINES: dict[EngineName, Engine] = {}
_E = TypeVar("_E", bound=type[Engine])


def register(engine: _E) -> _E:
    """Enter an engine under its name; a decorator of its class."""
    ENGINES[engine.name] = engine()
    return engine


def engine_names() -> tuple[EngineName, ...]:
    """What may be asked for: "auto", or an engine by name."""
    return AUTO, *sorted(ENGINES)


def choose(name: EngineName, requirements: Requirements, request: EngineSettings) -> Engine:
    """The engine of that name, or the best one here; an error says what it lacks for this search."""
    if name == AUTO:
        return best(requirements, request)
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}; expected one of {', '.join(engine_names())}")
    engine = ENGINES[name]
    reason = refusal(engine, requirements, request)
    if reason is not None:
        raise UsageError(reason)
    if not engine.available():
        if engine.extra is not None:
            raise MissingExtra(engine.extra, f"the engine {name}")
        raise UsageError(f"the engine {name} needs {engine.needs}")
    return engine


def best(requirements: Requirements, request: EngineSettings) -> LocalEngine:
    """The fastest engine of this machine that keeps the precision."""
    able = [
        engine
        for engine in ENGINES.values()
        if isinstance(engine, LocalEngine) and refusal(engine, requirements, request) is None and engine.available()
    ]
    priority = {engine: engine.priority(requirements) for engine in able}
    found = max(able, key=priority.__getitem__, default=None)
    if found is not None and priority[found] > 0:
        return found
    reasons = (refusal(engine, requirements, request) for engine in ENGINES.values())
    raise UsageError(next((one for one in reasons if one), "no engine of this machine suits this search; name one"))


def refusal(engine: Engine, requirements: Requirements, request: EngineSettings) -> str | None:
    """Why an engine cannot do such a search wherever it runs, None if it can."""
    if requirements.function and not engine.functions:
        able = " and ".join(name for name, other in sorted(ENGINES.items()) if other.functions)
        return f"a scoring function works with the engines {able}, not {engine.name}"
    if request.dtype is None or request.dtype.name in engine.precisions:
        return None
    able = " or ".join(name for name, other in sorted(ENGINES.items()) if request.dtype.name in other.precisions)
    if able:
        return f"products of {request.dtype} inputs need the engine {able}"
    known = sorted({one for other in ENGINES.values() for one in other.precisions})
    return f"expected products of {' or '.join(known)} inputs, got {request.dtype}"
