"""``zeroevidence utility``: what protected speech is still good for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import click

from zeroevidence.cli.options.declare import grouped
from zeroevidence.cli.options.gates import gate_option
from zeroevidence.cli.options.measuring import measuring_options
from zeroevidence.cli.options.output import output_options, terminal_progress
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.cli.options.gates import Gates
    from zeroevidence.cli.options.output import Output
    from zeroevidence.data.speech.corpus import Corpus
    from zeroevidence.evaluation import Evaluation, Options

_HEARD = (("transcripts", "hypotheses"), ("emotions", "recognised"))

heard_options = grouped(
    "heard",
    lambda **given: given,
    click.option("--transcripts", metavar="FILE", help="What was said: lines of `utterance word ...` (Kaldi text)."),
    click.option("--hypotheses", metavar="FILE", help="What a recogniser wrote, like --transcripts."),
    click.option(
        "--recogniser",
        metavar="COMMAND",
        help="Program that hears the speech, instead of --hypotheses: run with {wav} for each utterance, or once with "
        "{list}.",
    ),
    click.option("--emotions", metavar="FILE", help="Lines of `utterance emotion` (utt2emo)."),
    click.option("--recognised", metavar="FILE", help="What a classifier recognised, like --emotions."),
)


@click.command("utility")
@heard_options
@click.option("--corpus", metavar="DIR", help="Original speech, to compare lengths with.")
@click.option("--anonymised", metavar="DIR", help="The same utterances, anonymised.")
@click.option("--pitch", is_flag=True, help="Also follow the pitch of both.")
@click.option("--speakers", metavar="FILE", help="Who speaks: lines of `utterance speaker` (Kaldi utt2spk).")
@click.option(
    "--speech",
    type=click.Choice(get_args(Training)),
    default="anonymised",
    show_default=True,
    help="Whose speech recogniser and classifier heard.",
)
@click.option("--system", metavar="NAME", help="Name of the system [default: unprotected for original speech].")
@measuring_options("intervals", "seed", null=0)
@gate_option("wer>0.1")
@output_options
def command(
    heard: Mapping[str, str | None],
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
    """Measure words that are still understood, emotions that are still heard, and lengths.

    Any recogniser or classifier will do: it is their output that is read. Intervals leave speakers out.

    \b
    zeroevidence utility --transcripts text --hypotheses hyp --speakers utt2spk --system mine -f json -o utility.json
    zeroevidence utility --emotions utt2emo --recognised hyp_emo --speakers utt2spk
    zeroevidence utility --corpus original/ --anonymised anonymised/ --pitch
    zeroevidence utility --corpus original/ --anonymised anonymised/ --transcripts text --recogniser "hear {wav}"
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.data.formats.corpora.read import read_corpus
    from zeroevidence.data.formats.lists.transcripts import read_classes

    _check(heard, corpus, anonymised, pitch=pitch)
    name = system or (UNPROTECTED if speech == "original" else None)
    labels = {"system": name} if name else {}
    original = None if corpus is None else read_corpus(corpus, draw=False)
    changed = None if original is None or anonymised is None else original.replaced(anonymised)
    people = None if speakers is None else read_classes(speakers)
    if people is None and original is not None:
        people = {one.id: one.speaker for one in original}
    spoken = original if speech == "original" else changed
    rows = heard_rows(heard, people, labels, speech, options, spoken)
    if original is not None and changed is not None and anonymised is not None:
        with naming_file(anonymised):
            rows += spoken_rows(original, changed, labels, options, pitch=pitch)
    output.emit(output.rendered(rows))
    gates.judge(rows)


def _check(heard: Mapping[str, str | None], corpus: str | None, anonymised: str | None, *, pitch: bool) -> None:
    """Refuse half of what belongs together before anything is read."""
    _both(heard)
    if anonymised is not None and corpus is None:
        raise UsageError("--corpus and --anonymised belong together; expected both")
    if corpus is not None and anonymised is None and heard["recogniser"] is None:
        raise UsageError("--corpus and --anonymised belong together; expected both")
    if pitch and anonymised is None:
        raise UsageError("--pitch compares speech; expected --corpus and --anonymised")
    if corpus is None and all(heard[one] is None for one, _ in _HEARD):
        expected = ", or ".join(f"--{one} and --{other}" for one, other in (*_HEARD, ("corpus", "anonymised")))
        raise UsageError(f"nothing to measure; expected {expected}")


def _both(heard: Mapping[str, str | None]) -> None:
    """Refuse half of what belongs together; a recogniser stands for what it would write."""
    if heard["recogniser"] is not None and heard["hypotheses"] is not None:
        raise UsageError("--recogniser and --hypotheses are two ways to say the same; expected one of them")
    for one, other in _HEARD:
        second = heard[other] or (heard["recogniser"] if other == "hypotheses" else None)
        if (heard[one] is None) != (second is None):
            raise UsageError(f"--{one} and --{other} belong together; expected both")


def heard_rows(
    heard: Mapping[str, str | None],
    speakers: Mapping[str, str] | None,
    labels: Mapping[str, str],
    speech: Training,
    options: Options,
    spoken: Corpus | None = None,
) -> list[Evaluation]:
    """The rows of what a recogniser and a classifier heard; a recogniser that is to be run hears `spoken`."""
    from zeroevidence.data.formats.lists.transcripts import read_classes, read_transcripts
    from zeroevidence.evaluation.scores.utility import evaluate_classes, evaluate_transcripts

    _both(heard)
    words, written, truth, recognised = (heard[name] for pair in _HEARD for name in pair)
    how: dict[str, Any] = {"speakers": speakers, "labels": labels, "speech": speech, "options": options}
    rows = []
    if words is not None:
        said = read_transcripts(words)
        found = _recognised(str(heard["recogniser"]), said, spoken) if written is None else read_transcripts(written)
        with naming_file(written or words):
            rows.append(evaluate_transcripts(said, found, **how))
    if truth is not None and recognised is not None:
        with naming_file(recognised):
            rows += evaluate_classes(read_classes(truth), read_classes(recognised), **how)
    return rows


def _recognised(command: str, said: Mapping[str, str], spoken: Corpus | None) -> dict[str, str]:
    """What a recogniser hears in the speech that there are transcripts of."""
    from zeroevidence.auditing.utility.recognition import recognise_speech

    if spoken is None:
        raise UsageError(
            "--recogniser hears a folder of speech; expected --corpus and, of anonymised speech, --anonymised"
        )
    wanted = [one for one in spoken if one.id in said]
    return recognise_speech(wanted, command, terminal_progress("hearing", "utterances"))


def spoken_rows(
    original: Corpus, anonymised: Corpus, labels: Mapping[str, str], options: Options, *, pitch: bool
) -> list[Evaluation]:
    """The rows of what two corpora tell themselves: lengths, and pitch where wanted."""
    from zeroevidence.auditing.utility.pitch import evaluate_pitch
    from zeroevidence.evaluation.scores.utility import evaluate_lengths

    rows = [evaluate_lengths(original, anonymised, labels=labels, options=options)]
    if pitch:
        progress = terminal_progress("following pitch", "utterances")
        rows.append(evaluate_pitch(original, anonymised, labels=labels, options=options, progress=progress))
    return rows
