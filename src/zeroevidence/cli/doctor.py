"""``zeroevidence doctor``: what is wrong with these files, and exactly where."""

from __future__ import annotations

import sys

import click

from zeroevidence.cli.inputs import Reading, input_options, resolve
from zeroevidence.errors import InputError


@click.command("doctor")
@input_options
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Problems shown per file.")
def command(
    scores: tuple[str, ...],
    keys: tuple[str, ...],
    speakers: str | None,
    file_format: str,
    duplicates: str,
    allow_missing: bool,
    limit: int,
) -> None:
    """List every problem of score and key files as `file:line: reason`; nothing is evaluated.

    Takes the same files and options as `evaluate`. Exits with 3 when there is a problem, with 0 when there is none.
    """
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
        for problem in problems[:limit]:
            click.echo(str(problem))
        if len(problems) > limit:
            click.echo(f"... and {len(problems) - limit} more (--limit)")
        if not problems:
            click.echo(f"{source.scores}: ok")
    if found:
        click.echo(f"{found} problem{'s' if found > 1 else ''} found", err=True)
        sys.exit(InputError.exit_code)
