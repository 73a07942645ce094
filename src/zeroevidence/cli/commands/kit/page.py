"""Write one page on all systems of a folder: what each gives away."""

from __future__ import annotations

from pathlib import Path

import click

from zeroevidence.cli.commands.report import command_line
from zeroevidence.cli.options import shared
from zeroevidence.cli.options.measuring import RESAMPLING, measuring_options
from zeroevidence.cli.options.output import write_text
from zeroevidence.cli.options.score_files import file_progress
from zeroevidence.cli.printing import echo
from zeroevidence.data.files.locking import lock_folder
from zeroevidence.data.files.writing import refuse_existing
from zeroevidence.evaluation import Options


@click.command("page")
@click.argument("folder")
@click.option(
    "--systems",
    metavar="FILE",
    help="Table that says which score file is of which system, people and attacker "
    "[default: systems.tsv or systems.csv of the folder, where there is one].",
)
@measuring_options("row_scaling", *RESAMPLING)
@shared.workers()
@click.option("--title", metavar="TEXT", help="Heading of the report.")
@click.option(
    "--results",
    metavar="DIR",
    help="Where to keep the result of each score file; files that did not change are not evaluated again "
    "[default: the name of the page with .results].",
)
@shared.output("an HTML page", required=True, metavar="FILE")
@shared.overwrite()
@click.pass_context
def command(
    ctx: click.Context,
    folder: str,
    systems: str | None,
    options: Options,
    workers: int,
    title: str | None,
    results: str | None,
    output: str,
    overwrite: bool,
) -> None:
    """Evaluate all systems of a folder, and write one page that shows them side by side.

    FOLDER holds the score files of several systems with their keys, result folders of the VoicePrivacy kits, and tables
    that kits wrote (result_for_rank, results.csv, results.txt). Every measure is computed with interval and null where
    there are scores; of a table without scores the page shows the values that it holds, and what is missing. The page
    is one file that loads nothing. If the command is interrupted, it continues where it was.

    \b
    zeroevidence kit page submissions/ -o page.html
    zeroevidence kit page submissions/ --systems systems.tsv -o page.html
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.evaluation.reading.kept_results import KeptResults
    from zeroevidence.evaluation.reading.submissions import evaluate_submissions, find_submissions
    from zeroevidence.report.html.leaderboard import leaderboard_page

    refuse_existing(output, overwrite)
    submissions = find_submissions(folder, systems)
    home = Path(f"{Path(output).with_suffix('')}.results") if results is None else Path(results)
    with lock_folder(home, continued_from=["."]):
        rows = evaluate_submissions(
            submissions,
            options=options,
            workers=workers,
            progress=file_progress(submissions.files),
            kept=KeptResults(home),
        )
    page = leaderboard_page(rows, title=title, command=command_line(ctx), unread=submissions.unread)
    if submissions.unread:
        count = len(submissions.unread)
        echo(f"{folder}: {count} {'file was' if count == 1 else 'files were'} not read; the page lists them", err=True)
    write_text(page, output)
