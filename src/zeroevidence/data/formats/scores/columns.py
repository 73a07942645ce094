"""Text in columns without a header, as Kaldi, the VoxCeleb lists and SpeechBrain have it, with labels or a key."""

from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

for _format in (
    ScoreFormat(
        name="kaldi",
        description="Kaldi, `enrol trial score` on each line",
        text=Columns(scores=("enrol", "trial", "score"), key=("enrol", "trial", "label")),
        place=10,
    ),
    ScoreFormat(
        name="voxceleb",
        description="VoxCeleb, `score enrol trial` on each line, both sides utterances",
        text=Columns(scores=("score", "enrol", "trial"), key=("label", "enrol", "trial"), key_line="1|0 enrol trial"),
        identities=False,
        place=20,
    ),
    ScoreFormat(
        name="two-column",
        description="two columns, `score label` on each line",
        text=Columns(scores=("score", "label")),
        place=30,
    ),
    ScoreFormat(
        name="labelled",
        description="four columns, `enrol trial score label` on each line",
        text=Columns(scores=("enrol", "trial", "score", "label"), key=("enrol", "trial", "", "label"), key_line=""),
        place=40,
    ),
    ScoreFormat(
        name="speechbrain",
        description="SpeechBrain, `enrol trial label score` on each line, both sides utterances",
        text=Columns(scores=("enrol", "trial", "label", "score"), key=("enrol", "trial", "label", ""), key_line=""),
        identities=False,
        place=45,
    ),
):
    SCORE_FORMATS.add(_format)
