"""What a comparison of systems found, in a sentence, and what it could have found."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation.comparison import Comparison
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout import one_line, p_text, unit_sign
from zeroevidence.uncertainty.level import percent


def comparison_sentence(comparison: Comparison) -> str:
    """Which system gives away less by a measure, or that it is not told apart and what difference would be seen."""
    data = ", ".join(map(one_line, comparison.labels.values()))
    by = f"By {MEASURES[comparison.measure].title}" + (f" ({data})" if data else "")
    first, *others = (system.system for system in comparison.ranking)
    if not others:
        return f"{by}, there is nothing to compare {one_line(first)} with."
    close = [other for other in others if not comparison.tells_apart(first, other)]
    if close:
        return f"{by}, {_not_told(comparison, first, close)}."
    pairs = [comparison.pair_of(first, other) for other in others]
    largest = max(pair.p_holm for pair in pairs if pair is not None)
    return f"{by}, {_told(comparison, first, others)}, more than chance explains ({p_text(largest)})."


def _told(comparison: Comparison, first: str, others: Sequence[str]) -> str:
    """Who gives away less than whom, and of two systems by how much."""
    directed = MEASURES[comparison.measure].discloses != "none"
    if len(others) > 1:
        return f"{one_line(first)} {_least(comparison)} of {len(comparison.ranking)} systems"
    less = "gives away less" if directed else "is lower"
    size = _amount(comparison, comparison.pairs[0].difference.value)
    return f"{one_line(first)} {less} than {one_line(others[0])} by {size}"


def _least(comparison: Comparison) -> str:
    return "gives away least" if MEASURES[comparison.measure].discloses != "none" else "is the lowest"


def _not_told(comparison: Comparison, first: str, close: Sequence[str]) -> str:
    """Whom the first system is not told apart from, and which difference would be seen."""
    names = " and ".join(part for part in (", ".join(map(one_line, close[:-1])), one_line(close[-1])) if part)
    if len(comparison.ranking) == 2:
        claim = f"{one_line(first)} and {names} are not told apart"
    else:
        least = f"{_least(comparison)} of {len(comparison.ranking)} systems"
        claim = f"{one_line(first)} {least}, but is not told apart from {names}"
    pairs = [comparison.pair_of(first, other) for other in close]
    sizes = [pair.difference.detectable for pair in pairs if pair is not None]
    known = [size for size in sizes if size is not None]
    if not known:
        return claim
    trained = any(system.runs > 1 for system in comparison.ranking)
    these = "with these people and trainings" if trained else "with these people"
    seen = f"a difference of {_amount(comparison, max(known))} would be seen in {percent(comparison.power)}"
    return f"{claim}; {these} {seen} of such comparisons"


def _amount(comparison: Comparison, difference: float) -> str:
    """A difference without its sign, in the unit of the measure."""
    unit = MEASURES[comparison.measure].unit
    if unit == "rate":
        return f"{100 * abs(difference):.3g} percentage points"
    return f"{abs(difference):.3g} {unit_sign(unit)}".rstrip()
