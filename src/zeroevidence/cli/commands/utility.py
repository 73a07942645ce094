"""Measure what anonymised speech is still good for: words, emotions, lengths, pitch."""

from __future__ import annotations

from typing import get_args

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.gates import Gates, gate_option
from zeroevidence.cli.options.measuring import measuring_options
from zeroevidence.cli.options.output import Output, output_options
from zeroevidence.cli.options.utility import RecognitionInputs, evaluate_sound, recognition_options
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options


@click.command("utility")
@recognition_options
@shared.corpus("its lengths are compared with those of --anonymised")
@shared.anonymised()
@shared.pitch("lengths are always compared")
@shared.speakers()
@click.option(
    "--speech",
    type=click.Choice(get_args(Training)),
    default="anonymised",
    show_default=True,
    help="Speech that the recogniser and the classifier were applied to.",
)
@shared.system("unprotected for original speech unless given")
@measuring_options("intervals", "level", "seed", null=0)
@gate_option("wer>0.1")
@output_options
def command(
    recognition: RecognitionInputs,
    corpus: str | None,
    anonymised: str | None,
    pitch: bool,
    speakers: str | None,
    speech: Training,
    system: str | None,
    options: Options,
    gates: Gates,
    output: Output,
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
    from zeroevidence.auditing.inputs.left_out import read_usable
    from zeroevidence.data.formats.lists.transcripts import read_classes

    _check(recognition, corpus, anonymised, pitch=pitch)
    name = system or (UNPROTECTED if speech == "original" else None)
    labels = {"system": name} if name else {}
    original = None if corpus is None else read_usable(corpus, () if anonymised is None else (anonymised,))[0]
    changed = None if original is None or anonymised is None else original.replaced(anonymised)
    people = None if speakers is None else read_classes(speakers)
    if people is None and original is not None:
        people = {utterance.id: utterance.speaker for utterance in original}
    rows = recognition.evaluate(people, labels, speech, options, original if speech == "original" else changed)
    if original is not None and changed is not None and anonymised is not None:
        with naming_file(anonymised):
            rows += evaluate_sound(original, changed, labels, options, pitch=pitch)
    output.emit(output.render(rows))
    gates.judge(rows)


def _check(recognition: RecognitionInputs, corpus: str | None, anonymised: str | None, *, pitch: bool) -> None:
    """Refuse incomplete options before anything is read."""
    if recognition.bundled:
        raise UsageError(
            f"--recogniser {recognition.recogniser} is for `audit`; expected a command with {{wav}} or {{list}}"
        )
    if (anonymised is None) != (corpus is None) and (anonymised is not None or recognition.recogniser is None):
        raise UsageError("--corpus and --anonymised belong together; expected both")
    if pitch and anonymised is None:
        raise UsageError("--pitch compares speech; expected --corpus and --anonymised")
    if corpus is None and not recognition.any:
        raise UsageError(
            "nothing to measure; expected --transcripts and --hypotheses, or --emotions and --recognised, or --corpus "
            "and --anonymised"
        )
