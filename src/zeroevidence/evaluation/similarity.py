"""Measures that compare rows of one evaluation: de-identification and gain of voice distinctiveness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence._typing import FloatArray
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.results import Evaluation, Surface, measured
from zeroevidence.measure.registry import battery
from zeroevidence.measure.similarity import similarity_matrix
from zeroevidence.measure.views import SimilarityView

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
    matrices = [
        _matrix(scores) if number in wanted or len(scores) <= _DRAWN_SCORES else None
        for number, (_, scores) in enumerate(rows)
    ]
    result = []
    for number, (row, _) in enumerate(rows):
        after = matrices[number]
        before = matrices[compared[number]] if number in compared else None
        threat = threats[number]
        if before is not None and after is not None and before[1] == after[1] and threat is not None:
            found = battery("similarity", SimilarityView(before[0], after[0], threat.enrolment))
            row = row.with_metrics({name: measured(name, value, None) for name, value in found.items()})
        if after is not None and len(after[1]) <= _DRAWN_SPEAKERS:
            row = replace(row, surfaces={**row.surfaces, "similarity": _surface(*after)})
        result.append(row)
    return result


def _surface(similarity: FloatArray, names: list[str]) -> Surface:
    return Surface(tuple(names), tuple(names), tuple(tuple(line) for line in similarity.tolist()))


def _setting(row: Evaluation) -> tuple[str | None, ...]:
    """What has to agree for two rows to show the same people under the same verifier."""
    trained_on = None if row.about.threat is None else row.about.threat.trained_on
    return (*(row.labels.get(name) for name in ("dataset", "split", "sex")), trained_on)


def _matrix(scores: Scores) -> tuple[FloatArray, list[str]] | None:
    if scores.target_pairs is None or scores.enrolment_speakers is None or scores.trial_speakers is None:
        return None
    if len(set(scores.enrolment_speakers) & set(scores.trial_speakers) - {""}) < 2:
        return None
    return similarity_matrix(scores)
