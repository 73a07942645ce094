"""How the attacker that counts is chosen: on development people, or else by what was learned of the evaluated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from zeroevidence.evaluation.finding.chance import Chance
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.measure.measures import MEASURES, ordering_measures


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
    """
    numbers = range(len(attackers))
    best = max(numbers, key=lambda i: attackers[i].bits)
    least = attackers[best].bits - attackers[best].error
    fused = [i for i in numbers if attackers[i].fused and attackers[i].bits >= least]
    return max(fused, key=lambda i: attackers[i].bits) if fused else best


def development_results(rows: Sequence[Evaluation], numbers: Sequence[int]) -> list[DevelopmentResult] | None:
    """Return what the attackers of rows learned about development people; None where a row does not say it."""
    abouts = [rows[i].about for i in numbers]
    known = [
        DevelopmentResult(about.development, about.development_error or 0.0, about.fused)
        for about in abouts
        if about.development is not None
    ]
    return known if len(known) == len(numbers) else None


def strongest_row(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """Return the number of the row whose attacker learns most, of those that beat chance where any does.

    Where all rows say what their attacker learned about development people, that decides. Otherwise rows are ordered by
    the most telling measure that most of them have, bits as a share of log2 N, so that searches through different
    numbers of people are comparable; D_ECE breaks ties.
    """
    above = [i for i in numbers if chance[i].beaten is not False] or numbers
    results = development_results(rows, numbers)
    if results is not None:
        candidates = [result for i, result in zip(numbers, results, strict=True) if i in above]
        return above[choose(candidates)]
    return row_learning_most(rows, numbers, chance)


def row_chosen_on_development(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """Return the number of the row whose attacker development people choose, whether it beats chance or not.

    Where a row does not say what was learned about these, it is `strongest_row`. Of equals it is the first.
    """
    results = development_results(rows, numbers)
    if results is not None:
        return numbers[choose(results)]
    return strongest_row(rows, numbers, chance)


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

    def strength(i: int) -> tuple[bool, float, float]:
        learned = sign * (rows[i].number(name) or 0.0) / _most_to_learn(rows[i], name)
        return chance[i].beaten is not False, learned, rows[i].number("d_ece") or 0.0

    return max(having[name], key=strength)


def _most_to_learn(row: Evaluation, name: str) -> float:
    """Return what there is to learn: bits of searches of different sizes are compared as shares of it."""
    return log2(row.counts["identities"]) if MEASURES[name].high_note == "log2 N" and row.is_search else 1.0
