"""Kaldi: enrolment, trial and score on each line, and the label in the same place of the key."""

from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name="kaldi",
        description="Kaldi, `enrol trial score` on each line",
        text=Columns(scores=("enrol", "trial", "score"), key=("enrol", "trial", "label")),
        place=10,
    )
)
