"""What an evaluation holds: frozen, and the same for every way of showing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.rows import CalibrationMethod
from zeroevidence.measure.linkability import LinkabilityMethod

Value = float | str | Mapping[str, float] | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure; all of it is in the signature."""

    linkability: LinkabilityMethod = "density"
    dcf_prior: float = 0.05
    calibration: CalibrationMethod = "logistic"
    ddof: int = 0
    l2: float = 0.0
    balanced: bool = False
    intervals: int = 1000  # bootstrap replicates, 0 for none
    interval_method: Literal["auto", "percentile", "bca"] = "auto"
    null: int = 200  # permutations, 0 for none
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Metric:
    """One number and, where they were computed, its interval, its null and how it was estimated."""

    value: Value
    unit: str
    method: str | None = None
    low: float | None = None
    high: float | None = None
    null: Mapping[str, float] | None = None
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure over something, as plain numbers; `baseline` is what chance gives."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    baseline: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Surface:
    """A measure over two things: `z` holds a row for each `x` and in it a number for each `y` (numbers or names)."""

    x: tuple[float, ...] | tuple[str, ...]
    y: tuple[float, ...] | tuple[str, ...]
    z: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Points:
    """A two-dimensional map: where each item lies and which group it belongs to."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    label: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class People:
    """What a search learns about each speaker, the most exposed first; of very many speakers only those."""

    speaker: tuple[str, ...]
    trials: tuple[int, ...]
    alid: tuple[float, ...]  # mean over the speaker's trials, bits
    lid_max: tuple[float, ...]
    linked: tuple[float, ...]  # share of trials whose true identity scored strictly above all others


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """What each trial of a search discloses."""

    trial: StrArray
    speaker: StrArray
    lid: FloatArray
    rank: FloatArray  # mean rank over ties
    linked: IntArray  # 1 where the true identity scored strictly above all others


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All measures of one set of scores."""

    metrics: Mapping[str, Metric]
    counts: Mapping[str, int]
    signature: str
    labels: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    curves: Mapping[str, Curve] = field(default_factory=dict)
    trials: Trials | None = None
    surfaces: Mapping[str, Surface] = field(default_factory=dict)
    maps: Mapping[str, Points] = field(default_factory=dict)
    people: People | None = None

    def __post_init__(self) -> None:
        for name in ("metrics", "counts", "labels", "curves", "surfaces", "maps"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def with_metrics(self, metrics: Mapping[str, Metric]) -> Evaluation:
        """The same with further measures."""
        return replace(self, metrics={**self.metrics, **metrics})
