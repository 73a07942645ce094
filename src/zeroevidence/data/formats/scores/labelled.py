"""Four columns: Kaldi's three and the label; as a key such a file is read without its scores."""

from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name="labelled",
        description="four columns, `enrol trial score label` on each line",
        text=Columns(scores=("enrol", "trial", "score", "label"), key=("enrol", "trial", "", "label"), key_line=""),
        place=40,
    )
)
