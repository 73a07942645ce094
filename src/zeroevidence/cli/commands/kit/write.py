"""Write results as a kit does: result_for_rank and CSV."""

from __future__ import annotations

from pathlib import Path

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.output import write_text
from zeroevidence.data.files.writing import refuse_existing


@click.command("write")
@click.argument("results", nargs=-1, required=True, metavar="RESULT...")
@shared.suffix(default="")
@shared.output("a folder", required=True, metavar="FOLDER")
@shared.overwrite()
def command(results: tuple[str, ...], suffix: str, output: str, overwrite: bool) -> None:
    """Write finished results as result_for_rank<suffix> and as CSV files, in percent.

    A RESULT is a JSON file of `evaluate`, or a table that a kit wrote. Equal error rates, word error rates and recalls
    of emotions are written, each with its data set; other measures have no place in these files.

    \b
    zeroevidence evaluate exp/ -f json -o results.json
    zeroevidence kit write results.json exp/asr/results_x.csv --suffix _x -o exp/results_summary
    """  # noqa: D301 (\b is a control character here)
    from datetime import datetime

    from zeroevidence.data.files.errors import naming_file
    from zeroevidence.evaluation import read_results
    from zeroevidence.report.kit_tables import kit_csv, rank_text

    rows = [row for path in results for row in read_results(path)]
    folder = Path(output)
    with naming_file(", ".join(results)):
        texts = {f"result_for_rank{suffix}": rank_text(rows, datetime.now())}
        texts |= {f"{name}_results{suffix}.csv": text for name, text in kit_csv(rows).items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name in texts:
        refuse_existing(folder / name, overwrite)
    for name, text in texts.items():
        write_text(text, folder / name)
