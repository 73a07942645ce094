"""Measures that compare rows of one evaluation: de-identification and gain of voice distinctiveness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.rows.curves import Surface
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.limits import with_limits
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.setup import Setup
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.similarity import similarity_matrix
from zeroevidence.measure.views import SimilarityView
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.resampling.draws import draw_groups
from zeroevidence.uncertainty.spread import estimate_spread

_DRAWN_SPEAKERS = 100  # more cells than that are no picture
_DRAWN_SCORES = 2_000_000  # a matrix that nothing is compared with is not worth sorting more scores


def add_similarity(rows: Sequence[tuple[Evaluation, Scores]]) -> list[Evaluation]:
    """DeID on original-against-anonymised rows and G_VD on anonymised-against-anonymised ones; matrices for figures.

    Each is compared with the original-against-original row that agrees in all labels except enrolment, trial
    and the attacker's name; a row without such a partner, or without speakers, gets neither. The matrix itself goes
    along as the surface ``similarity`` where it is small enough to look at.
    """
    threats = [row.about.threat for row, _ in rows]
    original = {
        _setting(row): number
        for number, (row, _) in enumerate(rows)
        if (threat := threats[number]) is not None and (threat.enrolment, threat.trial) == ("original", "original")
    }
    compared = {
        number: original[_setting(row)]
        for number, (row, _) in enumerate(rows)
        if (threat := threats[number]) is not None and threat.trial == "anonymised" and _setting(row) in original
    }
    wanted = {*compared, *compared.values()}
    matrices = [_matrix(scores, drawn_only=number not in wanted) for number, (_, scores) in enumerate(rows)]
    result = []
    for number, (row, _) in enumerate(rows):
        after = matrices[number]
        before = matrices[compared[number]] if number in compared else None
        threat = threats[number]
        if before is not None and after is not None and before[1] == after[1] and threat is not None:
            view = SimilarityView(before[0], after[0], threat.enrolment)
            row = row.with_metrics(_measured(view, row.setup))
        if after is not None and len(after[1]) <= _DRAWN_SPEAKERS:
            row = replace(row, surfaces={**row.surfaces, "similarity": _surface(*after)})
        result.append(row)
    return result


def _measured(view: SimilarityView, setup: Setup) -> dict[str, MeasureResult]:
    """The measures of a view, with intervals from the matrices without each person; they are not calibrated again."""
    values = compute_family("similarity", view)
    plain = {name: MeasureResult.of(name, value, None) for name, value in values.items()}
    people = len(view.original)
    if setup.intervals is None or people < LEAST_PEOPLE or not all(map(_has_diagonal, (view.original, view.compared))):
        return plain
    group = draw_groups(people, setup.intervals.times, setup.seed or 0)
    without = []
    for number in range(int(group.max()) + 1):
        remaining = np.ix_(group != number, group != number)
        fewer = replace(view, original=view.original[remaining], compared=view.compared[remaining])
        without.append(compute_family("similarity", fewer))
    shares = np.bincount(group) / people
    return {
        name: _with_interval(result, name, [fewer.get(name) for fewer in without], shares, setup.level)
        for name, result in plain.items()
    }


def _has_diagonal(similarity: FloatArray) -> bool:
    """Whether everybody was compared with themselves."""
    return bool(np.isfinite(np.diagonal(similarity)).all())


def _with_interval(
    result: MeasureResult, name: str, without: Sequence[float | None], shares: FloatArray, level: float
) -> MeasureResult:
    left_out = np.array([np.nan if value is None else value for value in without])
    spread = estimate_spread(float(result), left_out, shares, float(len(shares)))
    return with_limits(result, name, spread, level, bound=False, method="interval by speaker")


def _surface(similarity: FloatArray, names: list[str]) -> Surface:
    return Surface(tuple(names), tuple(names), tuple(tuple(line) for line in similarity.tolist()))


def _setting(row: Evaluation) -> tuple[str | None, ...]:
    """Return the labels that agree in rows of the same people under the same verifier."""
    trained_on = None if row.about.threat is None else row.about.threat.trained_on
    return (*(row.labels.get(name) for name in ("dataset", "split", "sex")), trained_on)


def _matrix(scores: Scores, *, drawn_only: bool) -> tuple[FloatArray, list[str]] | None:
    """Return the similarity matrix and its speakers; None where there is none, or it is only drawn and too large."""
    if scores.target_pairs is None or scores.enrolment_speakers is None or scores.trial_speakers is None:
        return None
    if drawn_only and len(scores) > _DRAWN_SCORES:
        return None
    speakers = len(set(scores.enrolment_speakers.tolist()) & set(scores.trial_speakers.tolist()) - {""})
    return None if speakers < 2 or (drawn_only and speakers > _DRAWN_SPEAKERS) else similarity_matrix(scores)
