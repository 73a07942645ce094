"""Two columns: a score and its label, and nobody knows who was compared."""

from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name="two-column",
        description="two columns, `score label` on each line",
        text=Columns(scores=("score", "label")),
        place=30,
    )
)
