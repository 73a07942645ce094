"""Utility beside privacy: what speech is still good for, in the rows of the attackers on the same speech."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult

_DATA = ("dataset", "split")


def utility_beside(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The rows, those of attackers with the utility of the speech that they attack.

    A row of utility goes to all attackers on speech of the same system, original or anonymised, and of the same data
    where both say which. It stays a row of its own where it fits no attacker, is about one class alone, or where
    several would fit.

    Examples
    --------
    >>> from zeroevidence.data.threat import ThreatModel
    >>> from zeroevidence.evaluation import About, Evaluation, MeasureResult
    >>> threat = ThreatModel("ignorant", "original", "anonymised")
    >>> attack = Evaluation({"eer": MeasureResult(0.3, "rate")}, labels={"system": "x"}, about=About.against(threat))
    >>> about = About(role="utility", speech="anonymised")
    >>> words = Evaluation({"wer": MeasureResult(0.1, "rate")}, labels={"system": "x"}, about=about)
    >>> [list(row) for row in utility_beside([attack, words])]
    [['eer', 'wer']]
    """
    utility = [row for row in rows if row.about.speech is not None and set(row.labels) <= {"system", *_DATA}]
    joined = {place: _fitting(row, utility) for place, row in enumerate(rows) if row.about.threat is not None}
    used = {id(utility_row) for utility_rows in joined.values() for utility_row in utility_rows}
    return [_with(row, joined.get(place, [])) for place, row in enumerate(rows) if id(row) not in used]


def _with(row: Evaluation, utility: Sequence[Evaluation]) -> Evaluation:
    metrics: dict[str, MeasureResult] = {name: result for other in utility for name, result in other.metrics.items()}
    flags = [flag for other in utility for flag in other.flags]
    return row.with_metrics(metrics).with_flags(*flags) if metrics else row


def _fitting(row: Evaluation, utility: Sequence[Evaluation]) -> list[Evaluation]:
    """The rows of utility on the speech of a row of an attacker; none where two have the same measure."""
    threat = row.about.threat
    same = [
        candidate
        for candidate in utility
        if threat is not None
        and candidate.about.speech == threat.trial
        and candidate.labels.get("system") in (row.labels.get("system"), *_names(threat.trial))
        and all(candidate.labels.get(name) in (None, row.labels.get(name)) for name in _DATA)
    ]
    of_system = [candidate for candidate in same if candidate.labels.get("system") == row.labels.get("system")]
    chosen = of_system or same
    names = [name for candidate in chosen for name in candidate.metrics]
    return chosen if len(names) == len(set(names)) else []


def _names(trial: str) -> tuple[str, ...]:
    """What original speech is called, whichever system is attacked."""
    return (UNPROTECTED,) if trial == "original" else ()
