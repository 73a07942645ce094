"""``zeroevidence utility``: what protected speech is still good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from zeroevidence.cli.gates import gate_option
from zeroevidence.cli.groups import grouped
from zeroevidence.cli.measuring import measuring_options
from zeroevidence.cli.output import output_options
from zeroevidence.data.door import named
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.cli.gates import Gates
    from zeroevidence.cli.output import Output
    from zeroevidence.evaluation import Evaluation, Options

_HEARD = (("transcripts", "hypotheses"), ("emotions", "recognised"))
_PAIRS = (*_HEARD, ("corpus", "anonymised"))

heard_options = grouped(
    "heard",
    lambda **given: given,
    click.option("--transcripts", metavar="FILE", help="What was said: lines of `utterance word ...` (Kaldi text)."),
    click.option("--hypotheses", metavar="FILE", help="What a recogniser wrote, like --transcripts."),
    click.option("--emotions", metavar="FILE", help="Lines of `utterance emotion` (utt2emo)."),
    click.option("--recognised", metavar="FILE", help="What a classifier recognised, like --emotions."),
)


@click.command("utility")
@heard_options
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
    heard: Mapping[str, str | None],
    corpus: str | None,
    anonymised: str | None,
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
    zeroevidence utility --corpus original/ --anonymised anonymised/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.data.formats import read_corpus
    from zeroevidence.data.formats.transcripts import read_classes
    from zeroevidence.evaluation.utility import evaluate_lengths

    given = {**heard, "corpus": corpus, "anonymised": anonymised}
    _both(given, _PAIRS)
    if all(given[one] is None for one, _ in _PAIRS):
        expected = ", or ".join(f"--{one} and --{other}" for one, other in _PAIRS)
        raise UsageError(f"nothing to measure; expected {expected}")
    name = system or (UNPROTECTED if speech == "original" else None)
    people = None if speakers is None else read_classes(speakers)
    labels = {"system": name} if name else {}
    rows = heard_rows(heard, people, labels, speech, options)
    if corpus is not None and anonymised is not None:
        original = read_corpus(corpus, draw=False)
        with named(anonymised):
            rows.append(evaluate_lengths(original, original.replaced(anonymised), labels=labels, options=options))
    output.emit(output.rendered(rows))
    gates.judge(rows)


def _both(given: Mapping[str, str | None], pairs: Sequence[tuple[str, str]]) -> None:
    """Refuse half of what belongs together."""
    for one, other in pairs:
        if (given[one] is None) != (given[other] is None):
            raise UsageError(f"--{one} and --{other} belong together; expected both")


def heard_rows(
    heard: Mapping[str, str | None],
    speakers: Mapping[str, str] | None,
    labels: Mapping[str, str],
    speech: Training,
    options: Options,
) -> list[Evaluation]:
    """The rows of what a recogniser and a classifier heard."""
    from zeroevidence.data.formats.transcripts import read_classes, read_transcripts
    from zeroevidence.evaluation.utility import evaluate_classes, evaluate_transcripts

    _both(heard, _HEARD)
    words, written, truth, recognised = (heard[name] for pair in _HEARD for name in pair)
    how: dict[str, Any] = {"speakers": speakers, "labels": labels, "speech": speech, "options": options}
    rows = []
    if words is not None and written is not None:
        with named(written):
            rows.append(evaluate_transcripts(read_transcripts(words), read_transcripts(written), **how))
    if truth is not None and recognised is not None:
        with named(recognised):
            rows += evaluate_classes(read_classes(truth), read_classes(recognised), **how)
    return rows
