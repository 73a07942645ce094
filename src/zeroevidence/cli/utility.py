"""``zeroevidence utility``: what protected speech is still good for."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from zeroevidence.cli.gates import gate_option
from zeroevidence.cli.measuring import measuring_options
from zeroevidence.cli.output import output_options
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from zeroevidence.cli.gates import Gates
    from zeroevidence.cli.output import Output
    from zeroevidence.evaluation import Evaluation, Options

_PAIRS = (
    ("transcripts", "hypotheses"),
    ("emotions", "recognised"),
    ("corpus", "anonymised"),
)


@click.command("utility")
@click.option("--transcripts", metavar="FILE", help="What was said: lines of `utterance word word ...` (Kaldi text).")
@click.option("--hypotheses", metavar="FILE", help="What a recogniser wrote, like --transcripts.")
@click.option("--emotions", metavar="FILE", help="Lines of `utterance emotion` (utt2emo).")
@click.option("--recognised", metavar="FILE", help="What a classifier recognised, like --emotions.")
@click.option("--corpus", metavar="DIR", help="Original speech, to compare lengths with.")
@click.option("--anonymised", metavar="DIR", help="The same utterances, anonymised.")
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
    speakers: str | None,
    speech: Training,
    system: str | None,
    options: Options,
    gates: Gates,
    output: Output,
    **given: str | None,
) -> None:
    """Measure words that are still understood, emotions that are still heard, and lengths.

    Any recogniser or classifier will do: it is their output that is read. Intervals leave speakers out.

    \b
    zeroevidence utility --transcripts text --hypotheses hyp --speakers utt2spk --system mine -f json -o utility.json
    zeroevidence utility --emotions utt2emo --recognised hyp_emo --speakers utt2spk
    zeroevidence utility --corpus original/ --anonymised anonymised/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.data.formats.transcripts import read_classes
    from zeroevidence.report import render

    for one, other in _PAIRS:
        if (given[one] is None) != (given[other] is None):
            raise UsageError(f"--{one} and --{other} belong together; expected both")
    if all(given[one] is None for one, _ in _PAIRS):
        expected = ", or ".join(f"--{one} and --{other}" for one, other in _PAIRS)
        raise UsageError(f"nothing to measure; expected {expected}")
    name = system or (UNPROTECTED if speech == "original" else None)
    people = None if speakers is None else read_classes(speakers)
    rows = list(_rows(given, people, {"system": name} if name else {}, speech, options))
    output.emit(render(rows, output.format, signatures=output.signatures))
    gates.judge(rows)


def _rows(
    given: Mapping[str, str | None],
    speakers: Mapping[str, str] | None,
    labels: Mapping[str, str],
    speech: Training,
    options: Options,
) -> Iterator[Evaluation]:
    from zeroevidence.data.formats import read_corpus
    from zeroevidence.data.formats.transcripts import read_classes, read_transcripts
    from zeroevidence.evaluation.utility import evaluate_classes, evaluate_lengths, evaluate_transcripts

    said, heard, truth, recognised, corpus, anonymised = (given[name] for pair in _PAIRS for name in pair)
    if said is not None and heard is not None:
        yield evaluate_transcripts(
            read_transcripts(said),
            read_transcripts(heard),
            speakers=speakers,
            labels=labels,
            speech=speech,
            options=options,
        )
    if truth is not None and recognised is not None:
        yield from evaluate_classes(
            read_classes(truth),
            read_classes(recognised),
            speakers=speakers,
            labels=labels,
            speech=speech,
            options=options,
        )
    if corpus is not None and anonymised is not None:
        original = read_corpus(corpus, draw=False)
        yield evaluate_lengths(original, original.replaced(anonymised), labels=labels, options=options)
