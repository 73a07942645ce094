"""What a search learned about each person, and whose names come up for everybody.

In some spaces a few voices lie close to all others (hubs). Their names come up often whoever speaks, so that they are
named in many of their own recordings is no sign that they were recognised; it accuses them wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, StrArray
from zeroevidence.calibrate.rows import row_blocks
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.names import row_numbers
from zeroevidence.evaluation.rows.curves import Curve, as_curve, thinned
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.limits import with_share_limits
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.trials import People, Trials
from zeroevidence.measure.search.named import count_names, countable_people, first_identity, named_people
from zeroevidence.measure.views import NameCounts
from zeroevidence.uncertainty.exposure import exposure_shares

_MOST_PEOPLE = 1000
_HUB_SHARE = 0.1
_HUB_TIMES = 3.0


def names_on_top(matrix: ScoreMatrix) -> StrArray:
    """For each trial the person who scored strictly above all others, "" where nobody did."""
    names = matrix.enrolment_names if matrix.enrolment_speakers is None else matrix.enrolment_speakers
    best = np.zeros(len(matrix.mated), dtype=names.dtype)
    for rows in row_blocks(*matrix.scores.shape):
        best[rows] = first_names(matrix.scores[rows], names)
    return best


def first_names(rows: FloatArray, names: StrArray) -> StrArray:
    """The name that scores strictly above all others in each row, "" where none does.

    Parameters
    ----------
    rows
        Scores, trials x identities.
    names
        The name of each column, or of each score.
    """
    first = first_identity(rows)
    best = names[first] if names.ndim == 1 else np.take_along_axis(names, first[:, None], axis=1)[:, 0]
    return np.where(first >= 0, best, "")


def count_by_person(trials: Trials, on_top: StrArray, compared: Mapping[str, int] | None = None) -> NameCounts:
    """How often the name of each speaker came first, in the order of `Trials.by_speaker`.

    Parameters
    ----------
    trials
        What each trial disclosed.
    on_top
        Whose name came up for each trial, "" for nobody's.
    compared
        With how many trials of others each person was compared; with all of them unless given.
    """
    risk = trials.by_speaker
    other_trials = None if compared is None else np.array([compared.get(str(name), 0) for name in risk.speaker])
    people = np.arange(len(risk.speaker))
    return count_names(risk.whose, row_numbers(risk.speaker, on_top), people, other_trials)


def exposure_by_person(trials: Trials, names: NameCounts | None = None) -> People:
    """What the search learned about each speaker, the most exposed first and at most a thousand of them.

    Parameters
    ----------
    trials
        What each trial disclosed.
    names
        How often the name of each speaker came first.
    """
    risk = trials.by_speaker
    linked = np.bincount(risk.whose, weights=trials.linked) / risk.trials
    falsely = None if names is None else names.falsely / np.maximum(names.compared, 1)
    first = slice(_MOST_PEOPLE)
    return People(
        tuple(risk.speaker[first].tolist()),
        tuple(risk.trials[first].tolist()),
        tuple(risk.mean[first].tolist()),
        tuple(risk.max[first].tolist()),
        tuple(linked[first].tolist()),
        None if falsely is None else tuple(falsely[first].tolist()),
        None if names is None else tuple(named_people(names)[first].tolist()),
    )


def with_named_limits(
    metrics: Mapping[str, MeasureResult], names: NameCounts, level: float
) -> dict[str, MeasureResult]:
    """The measures, with limits of the share of people who are named."""
    if "people_named" not in metrics:
        return dict(metrics)
    people = int(np.count_nonzero(countable_people(names)))
    return {**metrics, "people_named": with_share_limits(metrics["people_named"], people, level)}


def exposed_curves(trials: Trials, level: float) -> dict[str, Curve]:
    """Share of people about whom a recording tells more than each level of bits on average: seen, and at most."""
    exposure = exposure_shares(trials.by_speaker.mean, choose=thinned, confidence=level)
    return {
        "people_above": as_curve(exposure.level, exposure.share),
        "people_above_bound": as_curve(exposure.level, exposure.bound),
    }


def most_people_above(row: Evaluation, level: float) -> float | None:
    """Upper limit of the share of people like these who are exposed to more than a number of bits.

    Examples
    --------
    >>> from zeroevidence.evaluation.rows.curves import Curve
    >>> row = Evaluation({}, curves={"people_above_bound": Curve((0.1, 0.2, 3.0), (0.99, 0.75, 0.53))})
    >>> [most_people_above(row, level) for level in (0.0, 1.0, 3.0)]
    [1.0, 0.75, 0.53]
    """
    if "people_above_bound" not in row.curves:
        return None
    curve = row.curves["people_above_bound"]
    at = int(np.searchsorted(curve.x, level, "right")) - 1
    return 1.0 if at < 0 else curve.y[at]


def hubs(people: People, identities: int) -> BoolArray:
    """Whose names come up for everybody: for a tenth of the others' trials, and three times as often as by guessing.

    Examples
    --------
    >>> hubs(People(("a", "b"), (4, 4), (1.0, 0.5), (2.0, 2.0), (0.8, 0.7), (0.01, 0.4)), 29).tolist()
    [False, True]
    """
    falsely = np.zeros(len(people.speaker)) if people.falsely is None else np.array(people.falsely)
    return np.asarray(falsely >= max(_HUB_SHARE, min(1.0, _HUB_TIMES / identities)))
