"""List the problems of the files of a tandem, with file and line."""

from __future__ import annotations

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.tandem_files import TandemInputs, tandem_inputs
from zeroevidence.cli.printing import exit_if_problems, print_problems


@click.command("check")
@tandem_inputs
@shared.limit()
def command(inputs: TandemInputs, limit: int) -> None:
    """List every problem of the files as `file:line: reason`, and evaluate nothing.

    Takes the same files as `tandem evaluate`. Exits with 3 if there is a problem, with 0 if there is none.
    """
    exit_if_problems(print_problems(inputs.problems(), limit, inputs.name))
