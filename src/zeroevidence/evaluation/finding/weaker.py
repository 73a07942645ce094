"""Whether one attacker learns less than another, by more than other people could turn round."""

from __future__ import annotations

import numpy as np

from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.uncertainty.compare import Difference, difference, unpaired_difference

_COMPARED = ("top1", "alid", "d_ece")  # the first that both rows have


def learns_less(row: Evaluation, other: Evaluation) -> bool:
    """Return whether the attacker of a row learns less than another one, beyond the interval of the difference.

    They are compared by top-1 where both rows have it, else by ALID, else by D_ECE. The difference is paired where the
    same people were left out of both; of results from files it rests on both spreads. Without either nothing is said.
    """
    name = next((name for name in _COMPARED if all(part.number(name) is not None for part in (row, other))), None)
    if name is None:
        return False
    gap = _paired(row, other, name) or _unpaired(row, other, name)
    return gap is not None and gap.value < 0.0 and gap.high < 0.0


def _paired(row: Evaluation, other: Evaluation, name: str) -> Difference | None:
    first, second = row.replicates, other.replicates
    if first is None or second is None or any(name not in part.left_out for part in (first, second)):
        return None
    if (row.setup.intervals, row.setup.seed) != (other.setup.intervals, other.setup.seed):
        return None
    people = first.people[name]
    if first.speakers is None or first.speakers != second.speakers:
        return None
    if not np.array_equal(people.shares, second.people[name].shares):
        return None
    left_out = first.left_out[name], second.left_out[name]
    return difference(float(row[name]), float(other[name]), left_out, people.shares, people.effective, row.setup.level)


def _unpaired(row: Evaluation, other: Evaluation, name: str) -> Difference | None:
    first, second = row.metrics[name].spread, other.metrics[name].spread
    if first is None or second is None:
        return None
    return unpaired_difference(float(row[name]), float(other[name]), first, second, row.setup.level)
