"""SpeechBrain: both utterances, the label and then the score, as its speaker verification recipes write them."""

from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name="speechbrain",
        description="SpeechBrain, `enrol trial label score` on each line, both sides utterances",
        text=Columns(scores=("enrol", "trial", "label", "score"), key=("enrol", "trial", "label", ""), key_line=""),
        identities=False,
        place=45,
    )
)
