"""Rows as tables show them: what speech is still good for, in the lines of the attackers on the same speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.results import Measured

_DATA = ("dataset", "split")


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one table, and the measures that were named for it."""

    rows: list[Evaluation]
    measures: Sequence[str] | None


def sections(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> list[Section]:
    """The tables that rows take: attackers with utility beside privacy, then the utility that fits none of them.

    Of named measures, only rows that have one of them are shown, and of several tables each shows those that it has.

    A row of utility goes into the lines of all attackers on speech of the same system, original or anonymised, and of
    the same data where both say which. It stays a line of its own where it fits no attacker, is about one class alone,
    or where several would fit.
    """
    utility = [row for row in rows if row.about.speech is not None and set(row.labels) <= {"system", *_DATA}]
    joined = {place: _fitting(row, utility) for place, row in enumerate(rows) if row.about.threat is not None}
    told = {id(one) for found in joined.values() for one in found}
    lines = [_with(row, joined.get(place, [])) for place, row in enumerate(rows) if id(row) not in told]
    if measures is not None:
        lines = [row for row in lines if any(name in row for name in measures)] or lines
    apart = ([row for row in lines if (row.about.speech is not None) == useful] for useful in (False, True))
    found = [own for own in apart if own]
    if len(found) < 2 or measures is None:
        return [Section(own, measures) for own in found]
    return [Section(own, [name for name in measures if any(name in row for row in own)]) for own in found]


def _with(row: Evaluation, utility: Sequence[Evaluation]) -> Evaluation:
    found: dict[str, Measured] = {name: one for other in utility for name, one in other.metrics.items()}
    flags = [one for other in utility for one in other.flags]
    return row.with_metrics(found).with_flags(*flags) if found else row


def _fitting(row: Evaluation, utility: Sequence[Evaluation]) -> list[Evaluation]:
    """The rows of utility on the speech of a row of an attacker; none where two have the same measure."""
    threat = row.about.threat
    same = [
        one
        for one in utility
        if threat is not None
        and one.about.speech == threat.trial
        and one.labels.get("system") in (row.labels.get("system"), *_names(threat.trial))
        and all(one.labels.get(name) in (None, row.labels.get(name)) for name in _DATA)
    ]
    own = [one for one in same if one.labels.get("system") == row.labels.get("system")]
    found = own or same
    names = [name for one in found for name in one.metrics]
    return found if len(names) == len(set(names)) else []


def _names(trial: str) -> tuple[str, ...]:
    """What original speech is called, whichever system is attacked."""
    return (UNPROTECTED,) if trial == "original" else ()
