"""Which rows are more than chance, and which of them has the attacker that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log2
from typing import Literal, TypeAlias

from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import MEASURES, ordering_measures
from zeroevidence.uncertainty.compare import holm
from zeroevidence.uncertainty.level import LEAST_PEOPLE, alpha
from zeroevidence.uncertainty.null import adjusted_p_values

# only: there is no other attempt; development: it did best on other people; fused: it fuses several, and none
# did clearly better on other people; development-beyond-chance, fused-beyond-chance: the same, of those that are more
# than chance; evaluated: it learned most of the evaluated people
Choice: TypeAlias = Literal[
    "only", "development", "fused", "development-beyond-chance", "fused-beyond-chance", "evaluated"
]
_SETTING = ("dataset", "split", "sex", "encoder", "backend")
PEOPLE_LABELS = ("dataset", "split", "sex")  # of the people that a row is about
EQUAL_BITS = 1e-6  # smaller differences are rounding, which differs between processors and must choose nothing


@dataclass(frozen=True, slots=True)
class Chance:
    """Whether a row is more than chance.

    Parameters
    ----------
    beaten
        Whether some measure is; None where nothing tells, or too coarsely.
    p_values
        Of each main measure that was tested, adjusted for all measures of all rows.
    too_few
        Whether people are so few that the test would have missed what is there; `beaten` is then True or None.
    measures
        The measures that are more than chance, by their p-values or their intervals, the most telling first.
    """

    beaten: bool | None
    p_values: Mapping[str, float] = field(default_factory=dict)
    too_few: bool = False
    measures: tuple[str, ...] = ()

    @property
    def p_value(self) -> float | None:
        """The smallest p-value; None where nothing was tested."""
        return min(self.p_values.values(), default=None)


def chances(rows: Sequence[Evaluation]) -> tuple[Chance, ...]:
    """Whether each row is more than chance: by the adjusted p-values of its main measures, or else by its intervals.

    Where nothing leaks, the probability that anything is called a leak, or anybody named, is so at most one minus the
    confidence level for the whole set of rows.
    """
    names = {name for name, measure in MEASURES.items() if measure.tested}
    results = [{name: row.metrics[name] for name in row.metrics if name in names} for row in rows]
    adjusted = [
        {name: p for name, p in of_row.items() if name in names and measured[name].null is not None}
        for of_row, measured in zip(adjust(rows), results, strict=True)
    ]
    return tuple(
        _judged(row, p_values, [measured[name] for name in p_values]) if p_values else _by_interval(row, measured)
        for row, p_values, measured in zip(rows, adjusted, results, strict=True)
    )


def with_adjusted(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the rows of one table with p-values adjusted over it."""
    return [
        row.with_metrics({name: replace(row.metrics[name], p_adjusted=p) for name, p in adjusted.items()})
        for row, adjusted in zip(rows, adjust(rows), strict=True)
    ]


def adjust(rows: Sequence[Evaluation]) -> list[dict[str, float]]:
    """P-values by measure of each row, adjusted for all measures of all rows that have one.

    Permutations with the same seed exchange the same people in every row, which keeps the dependence between attackers
    (`adjusted_p_values`). Results whose permutations were not stored are corrected by Holm's rule. Each kind of bound
    is a set by itself.
    """
    families: dict[tuple[str, str], list[_Test]] = {}
    for i, row in enumerate(rows):
        family = families.setdefault((row.about.question, row.about.role), [])
        results = row.metrics.items()
        family.extend(_Test(i, name, result, result.p_value) for name, result in results if result.p_value is not None)
    adjusted: list[dict[str, float]] = [{} for _ in rows]
    for tests in families.values():
        for test, p in zip(tests, _adjusted(tests), strict=True):
            adjusted[test.row][test.name] = p
    return adjusted


@dataclass(frozen=True, slots=True)
class _Test:
    """A measure of a row that has a p-value."""

    row: int
    name: str
    result: MeasureResult
    p_value: float

    @property
    def draws(self) -> tuple[float, ...]:
        return () if self.result.null is None else self.result.null.draws

    @property
    def is_of_list(self) -> bool:
        """Whether its p-value is that of the list, which all measures of the row share."""
        return self.result.null is not None and self.result.null.tested_by != "exchanged"

    @property
    def values(self) -> tuple[float, tuple[float, ...]]:
        """What was observed, and the permuted values, of which more tell more."""
        null = self.result.null
        if null is not None and null.statistic is not None:
            return null.statistic, self.draws
        measure = MEASURES.get(self.name)
        if measure is None or measure.discloses != "down":
            return float(self.result), self.draws
        return -float(self.result), tuple(-value for value in self.draws)


def _adjusted(tests: Sequence[_Test]) -> list[float]:
    """The p-value of each test among all; no smaller than its own."""
    numbers = range(len(tests))
    # the test of a list stands for all measures of its row
    of_list = sorted((k for k in numbers if tests[k].is_of_list), key=lambda k: (not tests[k].draws, tests[k].p_value))
    by_row = {tests[k].row: k for k in reversed(of_list)}
    standing = [by_row[tests[k].row] if tests[k].is_of_list else k for k in numbers]
    drawn, others = ([k for k in sorted(set(standing)) if bool(tests[k].draws) is kept] for kept in (True, False))
    corrected = dict(zip(drawn, adjusted_p_values([tests[k].values for k in drawn]), strict=True))
    corrected |= dict(zip(others, holm([tests[k].p_value for k in others]), strict=True))
    kinds = (len(drawn) > 0) + (len(others) > 0)
    return [max(tests[k].p_value, min(1.0, kinds * corrected[standing[k]])) for k in numbers]


def _judged(row: Evaluation, p_values: Mapping[str, float], results: Sequence[MeasureResult]) -> Chance:
    """What follows from the p-values of a row among all, and by themselves.

    A p-value of few permutations, multiplied by many tests, is large whatever leaks, and so is one of few people: that
    is no sign of privacy. Nor is a share of right names that is no more than guessing a leak, however rare it is.
    """
    too_few = row.counts.get("speakers", LEAST_PEOPLE) < LEAST_PEOPLE
    most = alpha(row.setup.level)
    by_p_value = sorted(
        (p, name) for name, p in p_values.items() if p <= most and float(row[name]) > (_guessing(row, name) or -inf)
    )
    coarse = any(map(_is_coarse, results)) and min(result.p_value or 0.0 for result in results) <= most
    unclear = not by_p_value and (too_few or coarse)
    return Chance(None if unclear else bool(by_p_value), p_values, too_few, tuple(name for _, name in by_p_value))


def _guessing(row: Evaluation, name: str) -> float | None:
    """What guessing gives by a measure; None where that is not known beforehand."""
    guessing = MEASURES[name].chance
    return None if guessing is None or not row.is_search else guessing(row.counts)


def _is_coarse(result: MeasureResult) -> bool:
    """Whether the p-value counts permutations that were not kept."""
    return result.null is not None and not result.null.draws and result.null.tested_by == "exchanged"


def _by_interval(row: Evaluation, results: Mapping[str, MeasureResult]) -> Chance:
    # D_ECE is never below 0, and neither are its replicates: its interval says something only where it was corrected.
    lows = {
        name: result.low - (_guessing(row, name) or 0.0)
        for name, result in results.items()
        if result.low is not None
        and (MEASURES[name].low < 0.0 or result.estimate is not None or _guessing(row, name) is not None)
    }
    beaten = tuple(name for name, low in lows.items() if low > 0.0)
    return Chance(bool(beaten), measures=beaten) if lows else Chance(None)


@dataclass(frozen=True, slots=True)
class DevelopmentResult:
    """What an attacker learned about development people.

    Parameters
    ----------
    bits
        Their disclosure.
    error
        Its standard error over these people.
    fused
        Whether the attacker is a fusion of others.
    """

    bits: float
    error: float = 0.0
    fused: bool = False


def choose(attackers: Sequence[DevelopmentResult]) -> int:
    """Return the number of the attacker that counts: a fusion, unless another did clearly better.

    The largest of many numbers is large by chance too, and a fusion, whose number is cross-fitted, is not one of many.
    So another attacker must be better by more than its standard error. Of equals it is the first.

    Examples
    --------
    >>> choose([DevelopmentResult(4.1, 0.2), DevelopmentResult(3.8, 0.2), DevelopmentResult(4.0, 0.2, fused=True)])
    2
    >>> choose([DevelopmentResult(4.1, 0.05), DevelopmentResult(3.8, 0.2), DevelopmentResult(4.0, 0.2, fused=True)])
    0
    >>> choose([DevelopmentResult(4.1), DevelopmentResult(4.1 + 1e-12)])
    0
    """
    numbers = range(len(attackers))
    best = _first_of_most(attackers, numbers)
    least = attackers[best].bits - attackers[best].error - EQUAL_BITS
    fused = [i for i in numbers if attackers[i].fused and attackers[i].bits >= least]
    return _first_of_most(attackers, fused) if fused else best


def _first_of_most(attackers: Sequence[DevelopmentResult], numbers: Sequence[int]) -> int:
    most = max(attackers[i].bits for i in numbers)
    return next(i for i in numbers if attackers[i].bits >= most - EQUAL_BITS)


def development_results(rows: Sequence[Evaluation], numbers: Sequence[int]) -> list[DevelopmentResult] | None:
    """Return what the attackers of rows learned about development people; None where a row does not say it."""
    abouts = [rows[i].about for i in numbers]
    results = [
        DevelopmentResult(about.development, about.development_error or 0.0, about.fused)
        for about in abouts
        if about.development is not None
    ]
    return results if len(results) == len(numbers) else None


def strongest_row(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """Return the number of the row whose attacker learns most, of those that beat chance where any does.

    Where all rows say what their attacker learned about development people, that decides. Otherwise rows are ordered by
    the most telling measure that most of them have, bits as a share of log2 N, so that searches through different
    numbers of people are comparable; D_ECE breaks ties.
    """
    above = [i for i in numbers if chance[i].beaten is not False] or numbers
    if development_results(rows, numbers) is None:
        return row_learning_most(rows, numbers, chance)
    return above[choose(development_results(rows, above) or [])]


def row_chosen_on_development(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """Return the number of the row whose attacker development people choose, whether it beats chance or not.

    Where a row does not say what was learned about these, it is `strongest_row`. Of equals it is the first.
    """
    results = development_results(rows, numbers)
    return strongest_row(rows, numbers, chance) if results is None else numbers[choose(results)]


def clearly_stronger_row(
    rows: Sequence[Evaluation], number: int, others: Sequence[int], measure: str, chance: Sequence[Chance] = ()
) -> int | None:
    """Return the number of the row that learns most, if clearly more than row `number`; None otherwise.

    It is clear where intervals do not overlap, or where only the other beats chance.
    """
    high = rows[number].metrics[measure].high if measure in rows[number].metrics else None
    at_chance = bool(chance) and chance[number].beaten is False
    better = [
        i
        for i in others
        if (high is not None and (rows[i].metrics[measure].low or 0.0) > high) or (at_chance and chance[i].beaten)
    ]
    return max(better, key=lambda i: rows[i].number(measure) or 0.0) if better else None


def row_learning_most(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """Return the number of the row whose attacker learned most about the evaluated people."""
    having = {
        measure.name: [i for i in numbers if rows[i].number(measure.name) is not None]
        for measure in ordering_measures()
    }
    name = max(having, key=lambda name: len(having[name]))
    if not having[name]:
        return numbers[0]
    sign = -1.0 if MEASURES[name].discloses == "down" else 1.0
    in_bits = MEASURES[name].high_note == "log2 N"

    def strength(i: int) -> tuple[bool, float, float]:
        row = rows[i]
        # Bits of searches of different sizes are compared as shares of what there is to learn.
        most = log2(row.counts["identities"]) if in_bits and row.is_search else 1.0
        return chance[i].beaten is not False, sign * (row.number(name) or 0.0) / most, row.number("d_ece") or 0.0

    return max(having[name], key=strength)


def same_people(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows are about the same people."""
    return all(row.labels.get(name) == other.labels.get(name) for name in PEOPLE_LABELS)


def same_setting(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows are of the same data and back-end."""
    return all(row.labels.get(name) == other.labels.get(name) for name in _SETTING)


def same_attempt(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows attack the same system on the same people, or are the same kind of bound."""
    same_system = row.labels.get("system") == other.labels.get("system")
    return same_system and row.about.role == other.about.role and same_people(row, other)


def bound_row(rows: Sequence[Evaluation], numbers: Sequence[int], best: int, role: str) -> int | None:
    """The row of a bound of the same people, by the same encoder and back-end where there is one; none for a bound."""
    if rows[best].about.is_bound:
        return None
    candidates = [i for i in numbers if rows[i].about.role == role and same_people(rows[i], rows[best])]
    return next((i for i in candidates if same_setting(rows[i], rows[best])), candidates[0] if candidates else None)
