"""Bands of a number, and labels that are numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.errors import InputError, UsageError


@dataclass(frozen=True, slots=True)
class Bands:
    """Classes of a number between ascending limits; a limit belongs to the band above it.

    Examples
    --------
    >>> bands = Bands.parse("12,18,30")
    >>> bands.names
    ('below 12', '12 to below 18', '18 to below 30', '30 or more')
    >>> bands.of(np.array([11.9, 12.0, 40.0])).tolist()
    ['below 12', '12 to below 18', '30 or more']
    """

    limits: tuple[float, ...]

    def __post_init__(self) -> None:
        steps = np.diff(self.limits)
        if not self.limits or not np.isfinite(self.limits).all() or (steps <= 0.0).any():
            limits = ", ".join(f"{limit:g}" for limit in self.limits)
            raise UsageError(f"bands: expected ascending numbers, got {limits!r}")

    @classmethod
    def parse(cls, text: str) -> Bands:
        """Return the bands of limits that are separated by commas."""
        try:
            return cls(tuple(float(part) for part in text.split(",")))
        except ValueError:
            raise UsageError(f"bands: expected ascending numbers as in 12,18,30, got {text!r}") from None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bands, in ascending order."""
        first, last = self.limits[0], self.limits[-1]
        middle = (f"{low:g} to below {high:g}" for low, high in zip(self.limits, self.limits[1:], strict=False))
        return (f"below {first:g}", *middle, f"{last:g} or more")

    def of(self, numbers: FloatArray) -> StrArray:
        """Return the name of the band of each number."""
        return np.array(self.names)[np.searchsorted(self.limits, numbers, side="right")]


def as_numbers(values: object, name: str) -> FloatArray:
    """Return values, which may be strings, as finite numbers."""
    array = np.asarray(values)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(value) for value in array.ravel()]).reshape(array.shape)
    wrong = np.flatnonzero(~np.isfinite(numbers.ravel()))
    if len(wrong):
        raise InputError(f"{name}: row {wrong[0]} is {str(array.ravel()[wrong[0]])!r}; expected a number")
    return numbers


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
