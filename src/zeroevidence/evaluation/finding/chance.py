"""Whether rows are more than chance.

Chance is tested once for all attackers together. The measures of all rows that attack something are standardised by
their nulls, and the largest is compared with the largest under each permutation (max-T, Westfall and Young 1993). So
where nothing leaks, the probability that anything is called a leak is at most one minus the confidence level for the
whole set of rows. Permutations with the same seed exchange the same people in every row, which keeps the dependence
between attackers. Rows without stored permutations, and lists, are corrected by Holm's rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.compare import holm
from zeroevidence.uncertainty.level import LEAST_PEOPLE, alpha


@dataclass(frozen=True, slots=True)
class Chance:
    """Whether a row is more than chance.

    Parameters
    ----------
    beaten
        None where nothing tells, or too coarsely.
    p_value
        Where it was tested.
    too_few
        Whether people are so few that the test would have missed what is there; `beaten` is then True or None.
    """

    beaten: bool | None
    p_value: float | None = None
    too_few: bool = False


def chances(rows: Sequence[Evaluation]) -> tuple[Chance, ...]:
    """Whether each row is more than chance, all rows of one question and part tested together."""
    tested: dict[int, Chance] = {}
    for numbers in _families(rows).values():
        tested |= _adjusted(rows, numbers)
    return tuple(tested[i] if i in tested else _by_interval(row) for i, row in enumerate(rows))


def _families(rows: Sequence[Evaluation]) -> dict[tuple[str, str], list[int]]:
    """Rows that one conclusion is drawn from: attacks together, and each kind of bound by itself."""
    families: dict[tuple[str, str], list[int]] = {}
    for i, row in enumerate(rows):
        if _tested(row):
            families.setdefault((row.about.question, row.about.role), []).append(i)
    return families


def _tested(row: Evaluation) -> dict[str, MeasureResult]:
    return {
        name: result
        for name, result in row.metrics.items()
        if name in MEASURES and MEASURES[name].tested and result.null
    }


def _adjusted(rows: Sequence[Evaluation], numbers: Sequence[int]) -> dict[int, Chance]:
    """For each row the p-value of its most telling measure, corrected for all measures of all rows."""
    tests = [(i, result) for i in numbers for result in _distinct(_tested(rows[i]).values())]
    drawn = [result for _, result in tests if result.null is not None and result.null.draws]
    not_drawn = [result for _, result in tests if result.null is not None and not result.null.draws]
    kinds = (len(drawn) > 0) + (len(not_drawn) > 0)
    draws = min((len(result.null.draws) for result in drawn if result.null is not None), default=0)
    corrected = dict(zip(map(id, drawn), _max_t(drawn, draws), strict=True))
    corrected |= dict(zip(map(id, not_drawn), holm([result.p_value or 0.0 for result in not_drawn]), strict=True))
    smallest: dict[int, tuple[float, float, bool]] = {}
    for i, result in tests:
        p, unadjusted = min(1.0, kinds * corrected[id(result)]), result.p_value or 0.0
        least, least_own, coarse = smallest.get(i, (1.0, 1.0, False))
        smallest[i] = min(p, least), min(unadjusted, least_own), coarse or _is_coarse(result)
    return {i: _judged(rows[i], *values) for i, values in smallest.items()}


def _judged(row: Evaluation, p_value: float, unadjusted: float, coarse: bool) -> Chance:
    """What follows from the p-value of a row among all, and by itself.

    A p-value of few permutations, multiplied by many tests, is large whatever leaks, and so is one of few people: that
    is no sign of privacy.
    """
    too_few = row.counts.get("speakers", LEAST_PEOPLE) < LEAST_PEOPLE
    beaten = p_value <= alpha(row.setup.level)
    unclear = not beaten and (too_few or (coarse and unadjusted <= alpha(row.setup.level)))
    return Chance(None if unclear else beaten, p_value, too_few)


def _distinct(measures: Iterable[MeasureResult]) -> list[MeasureResult]:
    """Tests of one row; measures of a list share one."""
    results = list(measures)
    shared = [result for result in results if result.null is not None and result.null.tested_by == "area"]
    return [result for result in results if result not in shared[1:]]


def _is_coarse(result: MeasureResult) -> bool:
    """Whether the p-value counts permutations that were not kept."""
    return result.null is not None and not result.null.draws and result.null.tested_by == "exchanged"


def _max_t(tests: Sequence[MeasureResult], draws: int) -> list[float]:
    """P-values of standardised measures against the largest of all under each permutation."""
    if not tests:
        return []
    observed, permuted = np.empty(len(tests)), np.empty((len(tests), draws))
    for k, result in enumerate(tests):
        assert result.null is not None
        values = np.array(result.null.draws[:draws])
        together = np.append(values, float(result))  # the observed value is one of the permutations
        finite = together[np.isfinite(together)]
        mean, spread = (float(finite.mean()), float(finite.std())) if len(finite) else (0.0, 0.0)
        scale = spread if spread > 1e-12 * max(1.0, float(np.abs(finite).max(initial=0.0))) else 1.0
        observed[k], permuted[k] = (float(result) - mean) / scale, (values - mean) / scale
    largest = np.nan_to_num(permuted, nan=np.inf, posinf=np.inf, neginf=-np.inf).max(axis=0)
    # A hair of tolerance: the identity permutation must count as equal after other roundings.
    return [float((1 + np.count_nonzero(largest >= t - 1e-9)) / (1 + draws)) for t in observed]


def _by_interval(row: Evaluation) -> Chance:
    # D_ECE is never below 0, and neither are its replicates: its interval says something only where it was corrected.
    lows = [
        result.low
        for name, result in row.metrics.items()
        if name in MEASURES
        and MEASURES[name].tested
        and result.low is not None
        and (MEASURES[name].low < 0.0 or result.estimate is not None)
    ]
    return Chance(max(lows) > 0.0) if lows else Chance(None)
