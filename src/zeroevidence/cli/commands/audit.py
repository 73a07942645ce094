"""``zeroevidence audit``: how private is this speech?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from zeroevidence.attack.attackers.attacker import ATTACKERS, usual_attackers
from zeroevidence.attack.backends.backend import BACKENDS
from zeroevidence.attack.extractors.extractor import expected_names
from zeroevidence.attack.training.settings import TrainingSettings
from zeroevidence.auditing.corpus_audit import TrialSegments, audit_corpora
from zeroevidence.cli.commands.utility import heard_options, heard_rows, spoken_rows
from zeroevidence.cli.options.declare import assignments_option, grouped, setting
from zeroevidence.cli.options.measuring import RESAMPLING, measuring_options, workers_option
from zeroevidence.cli.options.output import measure_option, refuse_existing, signatures_option, terminal_progress, wrote
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.speech.folds import FEW_PEOPLE, FOLDS
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.protect.voices import spelling_help

if TYPE_CHECKING:
    from zeroevidence.attack.ladder.ladder import Effort
    from zeroevidence.evaluation import Evaluation, Options


def _cutting(segments: str | None, pieces: int) -> TrialSegments | None:
    return None if segments is None else TrialSegments(segments, pieces)


cutting_options = grouped(
    "cutting",
    _cutting,
    click.option("--segments", metavar="FILE", help="Table of pieces (utt, start, end) to cut trials by."),
    setting(TrialSegments, "pieces", type=click.IntRange(1), help="Pieces per trial, with --segments."),
)


@click.command("audit")
@click.argument("corpus")
@click.option("--anonymised", metavar="DIR", help="Folder with the same utterances, written by your anonymiser.")
@click.option("--protect", metavar="NAME", help=f"Protect the speech here instead: {spelling_help()}.")
@setting(audit_corpora, "extractor", type=str, metavar="NAME", help=f"Speaker encoder: {expected_names()}.")
@click.option(
    "--extractor-anonymised",
    metavar="NAME",
    help="A further encoder that learned from such speech, as `train-attacker` makes them.",
)
@click.option(
    "--attacker",
    "attackers",
    multiple=True,
    type=click.Choice(list(ATTACKERS)),
    default=usual_attackers(),
    show_default=True,
    help="Attackers to try.",
)
@setting(audit_corpora, "effort", help="How far attackers go; from standard on they train the encoder too.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(list(BACKENDS)),
    help="Compare embeddings in this way only; may be repeated.",
)
@assignments_option(
    "training",
    TrainingSettings,
    leave_out=("seed",),
    text="A setting of the fine-tuning of encoders, such as epochs=3; may be repeated",
)
@cutting_options
@click.option(
    "--folds",
    type=click.IntRange(0),
    metavar="N",
    help="Evaluate everybody once, in N folds of people; 0 for one split [default: "
    f"{FOLDS} for fewer than {FEW_PEOPLE} people without roles, else 0].",
)
@heard_options
@click.option("--utility", "spoken", is_flag=True, help="Also measure how far lengths and pitch are kept.")
@click.option("--cache", metavar="DIR", help="Where embeddings are kept between runs [default: OUT/cache].")
@measuring_options(*RESAMPLING)
@workers_option
@measure_option
@signatures_option
@click.option("--report", metavar="FILE", help="Where the HTML report is written [default: OUT/report.html].")
@click.option("-o", "--output", "folder", required=True, metavar="OUT", help="Folder for the results.")
@click.option("--overwrite", is_flag=True, help="Replace results that are there already.")
def command(
    corpus: str,
    anonymised: str | None,
    protect: str | None,
    extractor: str,
    extractor_anonymised: str | None,
    attackers: tuple[str, ...],
    effort: Effort,
    backends: tuple[str, ...],
    training: TrainingSettings,
    cutting: TrialSegments | None,
    folds: int | None,
    heard: Mapping[str, str | None],
    spoken: bool,
    cache: str | None,
    options: Options,
    workers: int,
    measures: tuple[str, ...] | None,
    signatures: bool,
    report: str | None,
    folder: str,
    overwrite: bool,
) -> None:
    """Attack anonymised speech with attackers of growing knowledge and say what they learn.

    CORPUS is a folder speaker/utterance.wav, a Kaldi data folder, or a table with utterance, speaker and path. Roles
    and a speaker-disjoint split are drawn where it names none, and few people are cross-validated. Embeddings are kept,
    so an interrupted audit goes on where it stopped. What a recogniser wrote of the anonymised speech (--hypotheses)
    gives the word error rate beside what attackers learn. OUT holds the results as files that other commands read, and
    the report.

    \b
    zeroevidence audit original/ --anonymised anonymised/ -o out/
    zeroevidence audit original/ --protect mcadams -o out/
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    from zeroevidence.data.files.locking import lock_folder
    from zeroevidence.report.audit_folder import audit_text, check_folder, save_audit, save_report

    home = check_folder(folder, overwrite=overwrite)
    refuse_existing(report, overwrite)
    utility = _utility(heard, corpus, anonymised, options, spoken=spoken)
    with lock_folder(home), naming_file(corpus):
        audit = audit_corpora(
            corpus,
            anonymised=anonymised,
            protect=protect,
            extractor=extractor,
            extractor_anonymised=extractor_anonymised,
            cache=home / "cache" if cache is None else cache,
            attackers=attackers,
            effort=effort,
            backends=backends or None,
            training=training,
            cutting=cutting,
            folds=folds,
            options=options,
            workers=workers,
            progress=terminal_progress,
            say=partial(click.echo, err=True),
        )
        words = audit.strongest.labels
        system = {name: words[name] for name in ("system", "dataset") if name in words}
        audit = replace(audit, utility=tuple(replace(row, labels={**system, **row.labels}) for row in utility))
        written = save_audit(audit, home, overwrite=overwrite)
    for path in written:
        wrote(path)
    try:
        wrote(save_report(audit, home / "report.html" if report is None else report, measures=measures))
    except MissingExtra as error:
        if report is not None:
            raise
        click.echo(f"no report: {error}", err=True)
    click.echo(audit_text(audit, signatures=signatures, measures=measures), nl=False)


def _utility(
    heard: Mapping[str, str | None], corpus: str, anonymised: str | None, options: Options, *, spoken: bool
) -> list[Evaluation]:
    """What the anonymised speech is good for; the corpus says who speaks."""
    from zeroevidence.data.formats.corpora.read import read_corpus

    if not spoken and all(path is None for path in heard.values()):
        return []
    if anonymised is None and (spoken or heard["recogniser"] is not None):
        raise UsageError("--utility and --recogniser need anonymised speech in a folder; expected --anonymised")
    original = read_corpus(corpus, draw=False)
    changed = None if anonymised is None else original.replaced(anonymised)
    speakers = {one.id: one.speaker for one in original}
    rows = heard_rows(heard, speakers, {}, "anonymised", options, changed)
    return rows + (spoken_rows(original, changed, {}, options, pitch=True) if spoken and changed is not None else [])
