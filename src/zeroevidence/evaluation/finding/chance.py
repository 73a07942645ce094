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
    return {name: one for name, one in row.metrics.items() if name in MEASURES and MEASURES[name].tested and one.null}


def _adjusted(rows: Sequence[Evaluation], numbers: Sequence[int]) -> dict[int, Chance]:
    """For each row the p-value of its most telling measure, corrected for all measures of all rows."""
    tests = [(i, one) for i in numbers for one in _distinct(_tested(rows[i]).values())]
    drawn = [one for _, one in tests if one.null is not None and one.null.draws]
    others = [one for _, one in tests if one.null is not None and not one.null.draws]
    kinds = (len(drawn) > 0) + (len(others) > 0)
    draws = min((len(one.null.draws) for one in drawn if one.null is not None), default=0)
    corrected = dict(zip(map(id, drawn), _max_t(drawn, draws), strict=True))
    corrected |= dict(zip(map(id, others), holm([one.p_value or 0.0 for one in others]), strict=True))
    found: dict[int, tuple[float, float, bool]] = {}
    for i, one in tests:
        p, own = min(1.0, kinds * corrected[id(one)]), one.p_value or 0.0
        least, least_own, coarse = found.get(i, (1.0, 1.0, False))
        found[i] = min(p, least), min(own, least_own), coarse or _is_coarse(one)
    return {i: _judged(rows[i], *one) for i, one in found.items()}


def _judged(row: Evaluation, p_value: float, own: float, coarse: bool) -> Chance:
    """What follows from the p-value of a row among all, and by itself.

    A p-value of few permutations, multiplied by many tests, is large whatever leaks, and so is one of few people: that
    is no sign of privacy.
    """
    too_few = row.counts.get("speakers", LEAST_PEOPLE) < LEAST_PEOPLE
    beaten = p_value <= alpha(row.setup.level)
    unclear = not beaten and (too_few or (coarse and own <= alpha(row.setup.level)))
    return Chance(None if unclear else beaten, p_value, too_few)


def _distinct(measures: Iterable[MeasureResult]) -> list[MeasureResult]:
    """Tests of one row; measures of a list share one."""
    found = list(measures)
    shared = [one for one in found if one.null is not None and one.null.tested_by == "area"]
    return [one for one in found if one not in shared[1:]]


def _is_coarse(one: MeasureResult) -> bool:
    """Whether the p-value counts permutations that were not kept."""
    return one.null is not None and not one.null.draws and one.null.tested_by == "exchanged"


def _max_t(tests: Sequence[MeasureResult], draws: int) -> list[float]:
    """P-values of standardised measures against the largest of all under each permutation."""
    if not tests:
        return []
    observed, permuted = np.empty(len(tests)), np.empty((len(tests), draws))
    for k, one in enumerate(tests):
        assert one.null is not None
        values = np.array(one.null.draws[:draws])
        together = np.append(values, float(one))  # the observed value is one of the permutations
        finite = together[np.isfinite(together)]
        mean, spread = (float(finite.mean()), float(finite.std())) if len(finite) else (0.0, 0.0)
        scale = spread if spread > 1e-12 * max(1.0, float(np.abs(finite).max(initial=0.0))) else 1.0
        observed[k], permuted[k] = (float(one) - mean) / scale, (values - mean) / scale
    largest = np.nan_to_num(permuted, nan=np.inf, posinf=np.inf, neginf=-np.inf).max(axis=0)
    # A hair of tolerance: the identity permutation must count as equal after other roundings.
    return [float((1 + np.count_nonzero(largest >= t - 1e-9)) / (1 + draws)) for t in observed]


def _by_interval(row: Evaluation) -> Chance:
    # D_ECE is never below 0, and neither are its replicates: its interval says something only where it was corrected.
    lows = [
        one.low
        for name, one in row.metrics.items()
        if name in MEASURES
        and MEASURES[name].tested
        and one.low is not None
        and (MEASURES[name].low < 0.0 or one.estimate is not None)
    ]
    return Chance(max(lows) > 0.0) if lows else Chance(None)
