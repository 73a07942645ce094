"""Options of an evaluation, validated on construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from zeroevidence.calibrate.rows import CalibrationMethod, RowScalingChoice
from zeroevidence.errors import UsageError
from zeroevidence.measure.views import LinkabilityMethod, PairSettings
from zeroevidence.uncertainty.level import LEVEL


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure; all of it is in the signature.

    Parameters
    ----------
    linkability
        Estimator of linkability.
    omega
        Ratio of the priors of mated and non-mated pairs that linkability supposes.
    dcf_prior
        Prior of a target for the detection costs.
    calibration
        Method of the calibration of a search.
    ddof
        Divisor of the row deviation: 0 population, 1 sample.
    l2
        Penalty of the logistic fit.
    balanced
        Whether classes have equal weight in the logistic fit.
    row_scaling
        What is done to each row of a search before it is calibrated: ``standardise``, ``centre`` or ``none``, or
        ``auto`` for the one with the least log-loss on other people.
    intervals
        How many groups of people are left out in turn at most, 0 for no intervals. Fewer people are left out one by
        one.
    level
        Confidence level of intervals, bounds and tests, and of the quantile of the null.
    null
        Permutations of the null, 0 for none.
    seed
        Of all random choices.

    Examples
    --------
    >>> Options(intervals=0, linkability="pav").linkability
    'pav'
    >>> Options(dcf_prior=2.0)
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: dcf_prior: expected a number between 0 and 1, got 2.0
    """

    linkability: LinkabilityMethod = "density"
    omega: float = 1.0
    dcf_prior: float = 0.05
    calibration: CalibrationMethod = "logistic"
    ddof: int = 0
    l2: float = 0.0
    balanced: bool = False
    row_scaling: RowScalingChoice = "standardise"
    intervals: int = 200
    level: float = LEVEL
    null: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in (
            ("linkability", get_args(LinkabilityMethod)),
            ("calibration", get_args(CalibrationMethod)),
            ("ddof", (0, 1)),
            ("balanced", (False, True)),
            ("row_scaling", get_args(RowScalingChoice)),
        ):
            if getattr(self, name) not in choices:
                expected = ", ".join(map(str, choices))
                raise UsageError(f"{name}: expected one of {expected}, got {getattr(self, name)!r}")
        for name in ("intervals", "null", "seed"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise UsageError(f"{name}: expected a whole number from 0 on, got {value!r}")
        for name in ("dcf_prior", "level"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0.0 < value < 1.0:
                raise UsageError(f"{name}: expected a number between 0 and 1, got {value!r}")
        if not isinstance(self.omega, (int, float)) or not 0.0 < self.omega < float("inf"):
            raise UsageError(f"omega: expected a positive, finite number, got {self.omega!r}")
        if not isinstance(self.l2, (int, float)) or not 0.0 <= self.l2 < float("inf"):
            raise UsageError(f"l2: expected a finite number from 0 on, got {self.l2!r}")

    def changed(self, settings: Mapping[str, Any]) -> Options:
        """Return the options with some fields changed."""
        names = [field.name for field in fields(self)]
        unknown = [name for name in settings if name not in names]
        if unknown:
            raise UsageError(f"unknown option {unknown[0]!r}; expected one of {', '.join(names)}")
        return replace(self, **settings) if settings else self

    @property
    def pairs(self) -> PairSettings:
        """Return the settings of the one-to-one measures."""
        return PairSettings(self.linkability, self.dcf_prior, self.seed, omega=self.omega)
