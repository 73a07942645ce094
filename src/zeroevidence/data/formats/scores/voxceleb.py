"""VoxCeleb: the score, or the label of the key, before the two utterances that were compared."""

from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name="voxceleb",
        description="VoxCeleb, `score enrol trial` on each line, both sides utterances",
        text=Columns(scores=("score", "enrol", "trial"), key=("label", "enrol", "trial"), key_line="1|0 enrol trial"),
        identities=False,
        place=20,
    )
)
