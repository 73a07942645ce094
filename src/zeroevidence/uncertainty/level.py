"""The confidence level: how often intervals and limits hold, and how it is written."""

from __future__ import annotations

LEAST_PEOPLE = 10  # fewer give no interval: benchmarks/validity.py shows down to where intervals hold


def alpha(level: float) -> float:
    """Return how often a conclusion at this level may be wrong where nothing leaks.

    Examples
    --------
    >>> alpha(0.9)
    0.1
    """
    return round(1.0 - level, 12)


def percent(level: float) -> str:
    """Return the level as a percentage.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100.0 * level:.10g} %"
