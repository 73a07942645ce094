"""``zeroevidence doctor``: what is wrong with these files, and exactly where."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options.output import terminal_progress
from zeroevidence.cli.options.score_files import files_to_check
from zeroevidence.errors import InputError, Problem, UsageError

if TYPE_CHECKING:
    from zeroevidence.cli.options.score_files import ScoreInputs
    from zeroevidence.data.formats.corpora.read import CorpusReport


@click.command("doctor")
@files_to_check
@click.option("--corpus", is_flag=True, help="SCORES are corpora of speech instead: folders or tables, as for audit.")
@click.option(
    "--anonymised",
    metavar="DIR",
    help="With --corpus: also list utterances that do not match those in DIR, which an anonymiser wrote.",
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Problems shown per file.")
def command(inputs: ScoreInputs, corpus: bool, anonymised: str | None, limit: int) -> None:
    """List every problem of score and key files, or of a corpus, as `file:line: reason`, and evaluate nothing.

    Takes the same files as `evaluate`. Exits with 3 when there is a problem, with 0 when there is none.
    """
    if anonymised is not None and (not corpus or len(inputs.scores) != 1):
        raise UsageError("--anonymised is for one corpus of speech: --corpus ORIGINAL --anonymised DIR")
    found = _corpora(inputs.scores, limit) if corpus else _score_files(inputs, limit)
    if anonymised is not None:
        found += _pairs(inputs.scores[0], anonymised, limit)
    if found:
        click.echo(f"{found} problem{'s' if found > 1 else ''} found", err=True)
        sys.exit(InputError.exit_code)


def _score_files(inputs: ScoreInputs, limit: int) -> int:
    """Tell what is wrong with score files, and how much it is."""
    found = 0
    try:
        files = inputs.files()
    except InputError as error:
        click.echo(str(error))
        sys.exit(error.exit_code)
    for file in files:
        problems = inputs.reading.problems(file)
        found += len(problems)
        _tell(problems, limit, file.scores)
    return found


def _corpora(paths: tuple[str, ...], limit: int) -> int:
    """Tell what is wrong with corpora, and how much it is."""
    from zeroevidence.data.formats.corpora.read import examine_corpus

    found = 0
    for path in paths:
        found += _report(examine_corpus(path, progress=terminal_progress(path, "files")), limit, path)
    return found


def _pairs(path: str, anonymised: str, limit: int) -> int:
    """Tell where original and anonymised utterances do not match, and how often."""
    from zeroevidence.data.formats.corpora.read import examine_pairs

    return _report(examine_pairs(path, anonymised, progress=terminal_progress(anonymised, "pairs")), limit, anonymised)


def _report(report: CorpusReport, limit: int, path: str) -> int:
    _tell(report.problems, limit, path)
    for note in report.notes[:limit]:
        click.echo(f"note: {note}")
    if len(report.notes) > limit:
        click.echo(f"... and {len(report.notes) - limit} more notes (--limit)")
    return len(report.problems)


def _tell(problems: Sequence[Problem], limit: int, path: str) -> None:
    for problem in problems[:limit]:
        click.echo(str(problem))
    if len(problems) > limit:
        click.echo(f"... and {len(problems) - limit} more (--limit)")
    if not problems:
        click.echo(f"{path}: ok")
