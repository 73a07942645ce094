"""``zeroevidence doctor``: what is wrong with these files, and exactly where."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from zeroevidence.cli.inputs import Reading, input_options, resolve
from zeroevidence.cli.output import progress_of
from zeroevidence.errors import InputError, Problem


@click.command("doctor")
@input_options
@click.option("--corpus", is_flag=True, help="SCORES are corpora of speech instead: folders or tables, as for audit.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Problems shown per file.")
def command(
    scores: tuple[str, ...],
    keys: tuple[str, ...],
    speakers: str | None,
    file_format: str,
    duplicates: str,
    allow_missing: bool,
    corpus: bool,
    limit: int,
) -> None:
    """List every problem of score and key files, or of a corpus, as `file:line: reason`; nothing is evaluated.

    Takes the same files and options as `evaluate`. Exits with 3 when there is a problem, with 0 when there is none.
    """
    if corpus:
        _corpora(scores, limit)
        return
    reading = Reading(file_format, duplicates, allow_missing)
    found = 0
    try:
        sources = resolve(scores, keys, speakers)
    except InputError as error:
        click.echo(str(error))
        sys.exit(error.exit_code)
    for source in sources:
        problems = reading.problems(source)
        found += len(problems)
        _told(problems, limit, source.scores)
    _finish(found)


def _corpora(paths: tuple[str, ...], limit: int) -> None:
    from zeroevidence.data.formats.corpus import examine_corpus

    found = 0
    for path in paths:
        report = examine_corpus(path, progress=progress_of(path, "files"))
        found += len(report.problems)
        _told(report.problems, limit, path)
        for note in report.notes[:limit]:
            click.echo(f"note: {note}")
        if len(report.notes) > limit:
            click.echo(f"... and {len(report.notes) - limit} more notes (--limit)")
    _finish(found)


def _told(problems: Sequence[Problem], limit: int, path: str) -> None:
    for problem in problems[:limit]:
        click.echo(str(problem))
    if len(problems) > limit:
        click.echo(f"... and {len(problems) - limit} more (--limit)")
    if not problems:
        click.echo(f"{path}: ok")


def _finish(found: int) -> None:
    if found:
        click.echo(f"{found} problem{'s' if found > 1 else ''} found", err=True)
        sys.exit(InputError.exit_code)
