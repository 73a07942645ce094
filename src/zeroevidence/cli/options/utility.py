"""Options of utility: transcripts, emotions, and the speech that they are of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.options.declare import option_group
from zeroevidence.cli.options.output import terminal_progress
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.data.speech.corpus import Corpus
    from zeroevidence.data.threat import Training
    from zeroevidence.evaluation import Evaluation, Options

_PAIRS = (("transcripts", "hypotheses"), ("emotions", "recognised"))


@dataclass(frozen=True, slots=True)
class RecognitionInputs:
    """Files of what was said and felt, and of what a recogniser and a classifier recognised."""

    transcripts: str | None
    hypotheses: str | None
    recogniser: str | None
    emotions: str | None
    recognised: str | None

    def __post_init__(self) -> None:
        if self.recogniser is not None and self.hypotheses is not None:
            raise UsageError("--recogniser writes what --hypotheses would name; expected one of them")
        if self.recogniser is not None and self.transcripts is None and not self.bundled:
            raise UsageError(
                "--recogniser COMMAND needs the words that were said, to count its errors; expected --transcripts FILE "
                "with lines of `utterance word ...`"
            )
        for truth, guess in _PAIRS:
            if guess == "hypotheses" and self.bundled:
                continue  # transcripts may be in the corpus
            guessed = getattr(self, guess) or (self.recogniser if guess == "hypotheses" else None)
            if (getattr(self, truth) is None) != (guessed is None):
                raise UsageError(f"--{truth} and --{guess} belong together; expected both")

    @property
    def bundled(self) -> bool:
        """Whether the recogniser is one of this package, or none, for audits."""
        from zeroevidence.auditing.utility.word_errors import NO_RECOGNISER
        from zeroevidence.protect.voices.recognisers import RECOGNISERS

        return self.recogniser is not None and (self.recogniser == NO_RECOGNISER or self.recogniser in RECOGNISERS)

    @property
    def any(self) -> bool:
        """Whether there is anything to measure."""
        return self.transcripts is not None or self.emotions is not None

    def evaluate(
        self,
        speakers: Mapping[str, str] | None,
        labels: Mapping[str, str],
        speech: Training,
        options: Options,
        corpus: Corpus | None = None,
    ) -> list[Evaluation]:
        """Return the rows of words and emotions.

        Parameters
        ----------
        speakers
            Speaker of each utterance.
        labels
            Labels of the rows.
        speech
            Whether original or anonymised speech was recognised.
        options
            How to measure.
        corpus
            The speech that --recogniser is run on.
        """
        from zeroevidence.auditing.utility.word_errors import with_spelling_flag
        from zeroevidence.data.formats.lists.transcripts import read_classes, read_transcripts
        from zeroevidence.evaluation.scores.utility import evaluate_classes, evaluate_transcripts

        settings: dict[str, Any] = {"speakers": speakers, "labels": labels, "speech": speech, "options": options}
        rows = []
        if self.transcripts is not None:
            transcripts = read_transcripts(self.transcripts)
            if self.hypotheses is not None:
                hypotheses = read_transcripts(self.hypotheses)
            else:
                hypotheses = self._recognise(transcripts, corpus)
            with naming_file(self.hypotheses or self.transcripts):
                rows.append(
                    with_spelling_flag(
                        evaluate_transcripts(transcripts, hypotheses, **settings), transcripts, hypotheses
                    )
                )
        if self.emotions is not None and self.recognised is not None:
            with naming_file(self.recognised):
                rows += evaluate_classes(read_classes(self.emotions), read_classes(self.recognised), **settings)
        return rows

    def recognise_original(
        self, speakers: Mapping[str, str] | None, options: Options, corpus: Corpus
    ) -> list[Evaluation]:
        """Return the row of the words of the original speech, which the recogniser is run on, too; none without one.

        Parameters
        ----------
        speakers
            Speaker of each utterance.
        options
            How to measure.
        corpus
            The original speech.
        """
        if self.recogniser is None:
            return []
        words = replace(self, emotions=None, recognised=None)
        return words.evaluate(speakers, {"system": UNPROTECTED}, "original", options, corpus)

    def _recognise(self, transcripts: Mapping[str, str], corpus: Corpus | None) -> dict[str, str]:
        """Run the recogniser on the utterances that there are transcripts of."""
        from zeroevidence.auditing.utility.transcription import run_recogniser

        if corpus is None:
            raise UsageError(
                "--recogniser is run on a folder of speech; expected --corpus and, for anonymised speech, --anonymised"
            )
        utterances = [utterance for utterance in corpus if utterance.id in transcripts]
        return run_recogniser(utterances, str(self.recogniser), terminal_progress("recognising", "utterances"))


def evaluate_sound(
    original: Corpus, anonymised: Corpus, labels: Mapping[str, str], options: Options, *, pitch: bool
) -> list[Evaluation]:
    """Return the rows of length and, where asked for, of pitch."""
    from zeroevidence.auditing.utility.pitch import evaluate_pitch
    from zeroevidence.evaluation.scores.utility import evaluate_lengths

    rows = [evaluate_lengths(original, anonymised, labels=labels, options=options)]
    if pitch:
        progress = terminal_progress("tracking pitch", "utterances")
        rows.append(evaluate_pitch(original, anonymised, labels=labels, options=options, progress=progress))
    return rows


recognition_options = option_group(
    "recognition",
    RecognitionInputs,
    click.option("--transcripts", metavar="FILE", help="What was said: lines of `utterance word ...` (Kaldi text)."),
    click.option("--hypotheses", metavar="FILE", help="What a speech recogniser wrote, like --transcripts."),
    click.option(
        "--recogniser",
        metavar="COMMAND",
        help="Speech recogniser to run, instead of --hypotheses: with {wav} once for each utterance, with {list} once; "
        "or, for `audit`, moonshine or whisper of the extra recogniser, or none [default of `audit`: one that is "
        "installed and no part of the protection].",
    ),
    click.option("--emotions", metavar="FILE", help="Lines of `utterance emotion` (utt2emo)."),
    click.option("--recognised", metavar="FILE", help="Emotions that a classifier recognised, like --emotions."),
)
