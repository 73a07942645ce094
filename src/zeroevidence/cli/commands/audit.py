"""Attack anonymised speech and measure what attackers learn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from zeroevidence.attack.attackers import ATTACKERS, usual_attackers
from zeroevidence.attack.backends import BACKENDS
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR, expected_names
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.auditing.corpus_audit import TrialSegments, audit_corpora
from zeroevidence.auditing.protected_speech import read_usable
from zeroevidence.auditing.word_errors import NO_RECOGNISER, RecogniserOptions
from zeroevidence.cli.commands.utility import RecognitionInputs, evaluate_sound
from zeroevidence.cli.declare import options_of, run_options
from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import assignments_option, derived_option, option_group
from zeroevidence.cli.options.measuring import measure_option
from zeroevidence.cli.output import print_written
from zeroevidence.cli.printing import echo, echo_lines, terminal_progress, working
from zeroevidence.data.files import naming_file
from zeroevidence.data.folds import FEW_PEOPLE, FOLDS
from zeroevidence.data.writing import refuse_existing
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.protect.voices import spelling_help
from zeroevidence.run import Run

cutting_options = option_group(
    "cutting",
    lambda segments, pieces: None if segments is None else TrialSegments(segments, pieces),
    click.option("--segments", metavar="FILE", help="Table of segments (utt, start, end) to cut trials into."),
    derived_option(TrialSegments, "pieces", type=click.IntRange(1), help="Segments of a trial, with --segments."),
)


@click.command("audit")
@click.argument("corpus")
@shared.anonymised(
    "may be repeated: the first was released, the others are further runs of the same anonymiser, which attackers "
    "train on and enrol",
    multiple=True,
)
@click.option("--protect", metavar="NAME", help=f"Anonymise the speech with this voice protector: {spelling_help()}.")
@click.option(
    "--draws",
    type=click.IntRange(1),
    metavar="N",
    help="Times that attackers run the anonymiser on speech to train on and to enrol, the release included [default: "
    "with --protect 1 for quick, 2 for standard (5 with a GPU), 10 for full; else one for each --anonymised].",
)
@shared.extractor(f"one of {expected_names()}", default=DEFAULT_EXTRACTOR, show_default=True)
@click.option(
    "--extractor-anonymised",
    metavar="NAME",
    help="Further speaker encoder, trained on anonymised speech, as `train-attacker` writes it.",
)
@click.option(
    "--attacker",
    "attackers",
    multiple=True,
    type=click.Choice(list(ATTACKERS)),
    default=usual_attackers(),
    show_default=True,
    help="Threat model, may be repeated.",
)
@derived_option(
    audit_corpora, "effort", help="Effort of the attackers: from standard on they also train the speaker encoder."
)
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(list(BACKENDS)),
    help="Scoring back-end, may be repeated [default: as many as the effort allows].",
)
@assignments_option(
    "training",
    TrainingSettings,
    leave_out=("seed",),
    text="Setting of the fine-tuning of speaker encoders, such as epochs=3, may be repeated",
)
@cutting_options
@click.option(
    "--folds",
    type=click.IntRange(0),
    metavar="N",
    help=f"Cross-validate over people in N folds; 0 for one split [default: {FOLDS} for fewer than {FEW_PEOPLE} "
    "people without roles, else 0].",
)
@options_of(RecognitionInputs, "recognition")
@shared.pitch("their lengths are compared, too")
@click.option("--cache", metavar="DIR", help="Where to keep embeddings between runs [default: OUT/cache].")
@options_of(Options, "options", "intervals", "null")
@run_options("level", "seed")
@shared.workers()
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler; its workers embed the speech [default: none]."
)
@measure_option()
@shared.estimate()
@shared.signatures()
@shared.report("OUT/report.html unless given")
@shared.output("a folder", name="folder", required=True, metavar="OUT")
@shared.overwrite()
def command(
    corpus: str,
    anonymised: tuple[str, ...],
    recognition: RecognitionInputs,
    pitch: bool,
    cache: str | None,
    options: Options,
    run: Run,
    backends: tuple[str, ...],
    measures: tuple[str, ...] | None,
    estimate: bool,
    signatures: bool,
    report: str | None,
    folder: str,
    overwrite: bool,
    **settings: Any,
) -> None:
    """Attack anonymised speech with attackers of increasing knowledge and report what they learn.

    CORPUS is the original speech: a folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance,
    speaker and path. Give the same utterances, anonymised, with --anonymised, or let a bundled protector anonymise them
    with --protect. Where the corpus names no roles, they are drawn: who is enrolled, who is tried, who is trained on. A
    corpus of few people is cross-validated. An interrupted audit continues where it stopped.

    The folder OUT gets the results, which the other commands read, and the report. Where the extra `recogniser` is
    installed, both also hold the word error rates of a sample of the original and of the anonymised speech, by a
    recogniser that is no part of the protection; --recogniser none leaves them out.

    \b
    zeroevidence audit original/ --anonymised anonymised/ -o out/
    zeroevidence audit original/ --anonymised anonymised/ --anonymised again/ -o out/
    zeroevidence audit original/ --protect mcadams -o out/
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.data.writing import lock_folder
    from zeroevidence.report.audit_folder import audit_text, check_folder, save_audit, save_report

    home = check_folder(folder, overwrite=overwrite)
    refuse_existing(report, overwrite)
    released = anonymised[0] if anonymised else None
    utility = _utility(recognition, corpus, released, options, run, pitch=pitch)
    kept = home / "cache" if cache is None else Path(cache)
    lock = lock_folder(home, continued_from=["cache" if cache is None else kept.absolute()])
    with working("auditing speech"), lock, naming_file(corpus):
        audit = audit_corpora(
            corpus,
            anonymised=anonymised,
            cache=kept,
            backends=backends or None,
            recognition=_recogniser_options(recognition),
            options=options,
            run=run,
            progress=terminal_progress,
            say=partial(echo, err=True),
            **settings,
        )
        labels = audit.strongest.labels
        system = {name: labels[name] for name in ("system", "dataset") if name in labels}
        rows = (*audit.utility, *utility)
        audit = replace(audit, utility=tuple(replace(row, labels={**system, **row.labels}) for row in rows))
        written = save_audit(audit, home, overwrite=overwrite)
    for path in written:
        print_written(path)
    try:
        print_written(save_report(audit, home / "report.html" if report is None else report, measures=measures))
    except MissingExtra as error:
        if report is not None:
            raise
        echo(f"no report: {error}", err=True)
    echo_lines(audit_text(audit, signatures=signatures, measures=measures, estimate=estimate), rendered=True)


def _recogniser_options(recognition: RecognitionInputs) -> RecogniserOptions:
    """Return how word errors are measured: not at all where the user measures them."""
    if recognition.bundled:
        return RecogniserOptions(recognition.recogniser, recognition.transcripts)
    return RecogniserOptions(None if recognition.transcripts is None else NO_RECOGNISER)


def _utility(
    recognition: RecognitionInputs, corpus: str, anonymised: str | None, options: Options, run: Run, *, pitch: bool
) -> list[Evaluation]:
    """Return the rows of utility that are asked for, other than word errors by a bundled recogniser."""
    given = replace(recognition, recogniser=None, transcripts=None) if recognition.bundled else recognition
    if not pitch and not given.any:
        return []
    if anonymised is None and (pitch or given.recogniser is not None):
        raise UsageError("--pitch and --recogniser need anonymised speech in a folder; expected --anonymised")
    original, _ = read_usable(corpus, () if anonymised is None else (anonymised,))
    changed = None if anonymised is None else original.replaced(anonymised)
    speakers = {utterance.id: utterance.speaker for utterance in original}
    rows = given.evaluate(speakers, {}, "anonymised", options, run, changed)
    rows = [*given.recognise_original(speakers, options, run, original), *rows]
    if pitch and changed is not None:
        rows += evaluate_sound(original, changed, {}, options, run, pitch=True)
    return rows
