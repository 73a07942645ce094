"""The EER over the pairs of a closed-set search, which is the one to read beside its LID.

A key may list trials of people who are not enrolled. Their comparisons are non-targets of the one-to-one measures, and
a closed-set search leaves them out: the two are then over different pairs.
"""

from __future__ import annotations

from zeroevidence.measure.measures import IntervalRule, pair_measure
from zeroevidence.measure.pairs.verification import eer_atom_costs, eer_of
from zeroevidence.measure.views import PairView


def _interval(view: PairView) -> IntervalRule | None:
    return None if view.closed_set is None else "smooth"


@pair_measure(
    "eer_closed_set",
    "closed-set EER",
    unit="rate",
    discloses="down",
    place=15,
    interval=_interval,
    atom_costs=lambda counts, _, people: eer_atom_costs(counts, people),
    method="interpolated, pairs of the search",
    references=("vanleeuwen2007",),
)
def _eer_closed_set(view: PairView) -> float | None:
    """EER over the pairs of the search alone, given where the search leaves trials out; 50 % is guessing."""
    return None if view.closed_set is None else eer_of(view.closed_set)
