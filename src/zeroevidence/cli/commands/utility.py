"""Measure what anonymised speech is still good for: words, emotions, lengths, pitch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.output import Gates, Output, output_options
from zeroevidence.data.files import naming_file
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.run import Run, setting

if TYPE_CHECKING:
    from zeroevidence.data.corpus import Corpus


@dataclass(frozen=True, slots=True)
class RecognitionInputs:
    """Files of what was said and felt, and of what a recogniser and a classifier recognised."""

    transcripts: str | None = setting(
        None, "What was said: lines of `utterance word ...` (Kaldi text).", metavar="FILE"
    )
    hypotheses: str | None = setting(None, "What a speech recogniser wrote, like --transcripts.", metavar="FILE")
    recogniser: str | None = setting(
        None,
        "Speech recogniser to run, instead of --hypotheses: with {wav} once for each utterance, with {list} once; "
        "or, for `audit`, moonshine or whisper of the extra recogniser, or none [default of `audit`: one that is "
        "installed and no part of the protection].",
        metavar="COMMAND",
    )
    emotions: str | None = setting(None, "Lines of `utterance emotion` (utt2emo).", metavar="FILE")
    recognised: str | None = setting(None, "Emotions that a classifier recognised, like --emotions.", metavar="FILE")

    def __post_init__(self) -> None:
        if self.recogniser is not None and self.hypotheses is not None:
            raise UsageError("--recogniser writes what --hypotheses would name; expected one of them")
        if self.recogniser is not None and self.transcripts is None and not self.bundled:
            raise UsageError(
                "--recogniser COMMAND needs the words that were said, to count its errors; expected --transcripts FILE "
                "with lines of `utterance word ...`"
            )
        if self.hypotheses is not None and self.transcripts is None:
            raise UsageError("--hypotheses are compared with what was said; expected --transcripts, too")
        if (self.emotions is None) != (self.recognised is None):
            raise UsageError("--emotions and --recognised belong together; expected both")

    @property
    def bundled(self) -> bool:
        """Whether the recogniser is one of this package, or none, for audits."""
        from zeroevidence.auditing.word_errors import NO_RECOGNISER
        from zeroevidence.protect.voices.speech_models import RECOGNISERS

        return self.recogniser is not None and (self.recogniser == NO_RECOGNISER or self.recogniser in RECOGNISERS)

    @property
    def alone(self) -> bool:
        """Whether there are transcripts, and nothing that was recognised."""
        return self.transcripts is not None and self.hypotheses is None and self.recogniser is None

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
        run: Run,
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
        run
            Seed, level and progress.
        corpus
            The speech that --recogniser is run on.
        """
        from zeroevidence.auditing.word_errors import with_spelling_flag
        from zeroevidence.data.formats.lists import read_classes, read_transcripts
        from zeroevidence.evaluation.utility import evaluate_classes, evaluate_transcripts

        settings: dict[str, Any] = {"speakers": speakers, "labels": labels, "speech": speech}
        settings |= {"options": options, "run": run}
        rows = []
        if self.transcripts is not None:
            transcripts = read_transcripts(self.transcripts)
            if self.hypotheses is not None:
                hypotheses = read_transcripts(self.hypotheses)
            else:
                hypotheses = self._recognise(transcripts, corpus, run)
            with naming_file(self.hypotheses or self.transcripts):
                row = evaluate_transcripts(transcripts, hypotheses, **settings)
                rows.append(with_spelling_flag(row, transcripts, hypotheses))
        if self.emotions is not None and self.recognised is not None:
            with naming_file(self.recognised):
                rows += evaluate_classes(read_classes(self.emotions), read_classes(self.recognised), **settings)
        return rows

    def _recognise(self, transcripts: Mapping[str, str], corpus: Corpus | None, run: Run) -> dict[str, str]:
        """Run the recogniser on the utterances that there are transcripts of."""
        from zeroevidence.auditing.speech_utility import run_recogniser

        if corpus is None:
            raise UsageError(
                "--recogniser is run on a folder of speech; expected --corpus and, for anonymised speech, --anonymised"
            )
        utterances = [utterance for utterance in corpus if utterance.id in transcripts]
        return run_recogniser(utterances, str(self.recogniser), run.progress("recognising", "utterances"))


def evaluate_sound(
    original: Corpus, anonymised: Corpus, labels: Mapping[str, str], options: Options, run: Run, *, pitch: bool
) -> list[Evaluation]:
    """Return the rows of length and, where asked for, of pitch."""
    from zeroevidence.auditing.speech_utility import evaluate_pitch
    from zeroevidence.evaluation.utility import evaluate_lengths

    rows = [evaluate_lengths(original, anonymised, labels=labels, options=options, run=run)]
    if pitch:
        rows.append(evaluate_pitch(original, anonymised, labels=labels, options=options, run=run))
    return rows


@dataclass(frozen=True, slots=True)
class _Speech:
    """The speech that is compared, and whose words and emotions were recognised."""

    corpus: str | None = shared("--corpus", "its lengths are compared with those of --anonymised")
    anonymised: str | None = shared("--anonymised")
    pitch: bool = shared("--pitch", "lengths are always compared")
    speakers: str | None = shared("--speakers")
    speech: Training = setting("anonymised", "Speech that the recogniser and the classifier were applied to.")
    system: str | None = shared("--system", "unprotected for original speech unless given")

    def check(self, recognition: RecognitionInputs) -> None:
        """Refuse incomplete options before anything is read."""
        if recognition.bundled:
            raise UsageError(
                f"--recogniser {recognition.recogniser} is for `audit`; expected a command with {{wav}} or {{list}}"
            )
        if recognition.alone:
            raise UsageError(
                "--transcripts are compared with what was recognised; expected --hypotheses or --recogniser"
            )
        if (self.anonymised is None) != (self.corpus is None) and (
            self.anonymised is not None or recognition.recogniser is None
        ):
            raise UsageError("--corpus and --anonymised belong together; expected both")
        if self.pitch and self.anonymised is None:
            raise UsageError("--pitch compares speech; expected --corpus and --anonymised")
        if self.corpus is None and not recognition.any:
            raise UsageError(
                "nothing to measure; expected --transcripts and --hypotheses, or --emotions and --recognised, or "
                "--corpus and --anonymised"
            )


@click.command("utility")
@options_of(RecognitionInputs, "recognition")
@options_of(_Speech, "given")
@options_of(Options, "options", "intervals", fixed={"null": 0})
@run_options("level", "seed")
@options_of(Gates, "gates", conditions="for example 'wer>0.1'")
@output_options("signatures", "verbose", "explain")
def command(
    recognition: RecognitionInputs, given: _Speech, options: Options, run: Run, gates: Gates, output: Output
) -> None:
    """Measure how well words and emotions are recognised in anonymised speech, and how far lengths and pitch agree.

    Words and emotions are measured from the output of any speech recogniser or emotion classifier. Intervals leave
    speakers out.

    \b
    zeroevidence utility --transcripts text --hypotheses hyp --speakers utt2spk --system mine -f json -o utility.json
    zeroevidence utility --emotions utt2emo --recognised hyp_emo --speakers utt2spk
    zeroevidence utility --corpus original/ --anonymised anonymised/ --pitch
    zeroevidence utility --corpus original/ --anonymised anonymised/ --transcripts text --recogniser "hear {wav}"
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.auditing.protected_speech import read_speech
    from zeroevidence.data.formats.lists import read_classes

    given.check(recognition)
    name = given.system or (UNPROTECTED if given.speech == "original" else None)
    labels = {"system": name} if name else {}
    released = () if given.anonymised is None else (given.anonymised,)
    original = None if given.corpus is None else read_speech(given.corpus, released).corpus
    changed = None if original is None or given.anonymised is None else original.replaced(given.anonymised)
    people = None if given.speakers is None else read_classes(given.speakers)
    if people is None and original is not None:
        people = {utterance.id: utterance.speaker for utterance in original}
    heard = original if given.speech == "original" else changed
    rows = recognition.evaluate(people, labels, given.speech, options, run, heard)
    if original is not None and changed is not None and given.anonymised is not None:
        with naming_file(given.anonymised):
            rows += evaluate_sound(original, changed, labels, options, run, pitch=given.pitch)
    output.emit(output.render(rows))
    gates.judge(rows)
