"""Results that a challenge's own scripts wrote, as evaluations."""

from __future__ import annotations

from pathlib import Path

from zeroevidence.data.formats.voiceprivacy.published_tables import SummaryRow, read_summary
from zeroevidence.evaluation.finding.row_flags import flag_rows
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.setup import Setup

_METHOD = "as published"


def read_published(*paths: str | Path) -> list[Evaluation]:
    """The rows of ``result_for_rank*`` or ``results*.csv`` files of a VoicePrivacy Challenge.

    Equal error rates are attacks; word error rates and recall of emotions are utility. There are no intervals, and no
    measure that scores would be needed for.
    """
    return flag_rows([_evaluation(row, Path(path).name) for path in paths for row in read_summary(path)])


def _evaluation(row: SummaryRow, name: str) -> Evaluation:
    about = About(role="utility", speech=row.speech) if row.threat is None else About.against(row.threat)
    return Evaluation(
        metrics={measure: MeasureResult.of(measure, value, _METHOD) for measure, value in row.measures.items()},
        setup=Setup(recorded=f"{_METHOD}|{name}:{row.line}"),
        labels=row.labels,
        about=about,
    )
