"""Measures that compare rows of one evaluation: de-identification and gain of voice distinctiveness."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence._typing import FloatArray
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.results import Evaluation, Metric
from zeroevidence.measure.similarity import deid, similarity_matrix, voice_distinctiveness_gain


def add_similarity(rows: Sequence[tuple[Evaluation, Scores]]) -> list[Evaluation]:
    """DeID on original-against-anonymised rows and G_VD on anonymised-against-anonymised ones.

    Each is compared with the original-against-original row that agrees in all labels except enrolment, trial
    and the attacker's name; a row without such a partner, or without speakers, stays as it is.
    """
    original = {_setting(row): (row, scores) for row, scores in rows if _sides(row) == ("original", "original")}
    result = []
    for row, scores in rows:
        base = original.get(_setting(row))
        if base is None or row.labels.get("trial") != "anonymised":
            result.append(row)
            continue
        before, after = _matrix(base[1]), _matrix(scores)
        if before is None or after is None or before[1] != after[1]:
            result.append(row)
        elif row.labels.get("enrolment") == "original":
            result.append(row.with_metrics({"deid": Metric(deid(before[0], after[0]), "fraction")}))
        else:
            gain = voice_distinctiveness_gain(before[0], after[0])
            result.append(row.with_metrics({"voice_distinctiveness_gain": Metric(gain, "dB")}))
    return result


def _sides(row: Evaluation) -> tuple[str | None, str | None]:
    return row.labels.get("enrolment"), row.labels.get("trial")


def _setting(row: Evaluation) -> tuple[str | None, ...]:
    """What has to agree for two rows to show the same people under the same verifier."""
    trained_on = row.labels.get("attacker", "").partition("trained on ")[2]
    return (*(row.labels.get(name) for name in ("dataset", "split", "sex")), trained_on)


def _matrix(scores: Scores) -> tuple[FloatArray, list[str]] | None:
    if scores.target_pairs is None or scores.enrolment_speakers is None or scores.trial_speakers is None:
        return None
    if len(set(scores.enrolment_speakers) & set(scores.trial_speakers) - {""}) < 2:
        return None
    return similarity_matrix(scores)
