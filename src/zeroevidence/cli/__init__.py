"""The command line: one file per command, loaded only when that command runs."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from zeroevidence._version import __version__
from zeroevidence.errors import ZeroEvidenceError

_COMMANDS = {
    "audit": "How private is this speech? Attackers, evaluation, results in one folder.",
    "evaluate": "Score files in, evidence out.",
    "protect": "Take an attribute out of embeddings: fit, apply, evaluate.",
    "tandem": "Verifier behind a countermeasure: t-DCF and its relatives.",
    "compare": "Several systems on the same trials: differences, ranking, ties.",
    "link": "From embeddings to disclosure, without the score matrix.",
    "plot": "A figure for a paper, from results.",
    "report": "One page that says what was found, from results or score files.",
    "serve": "The same in the browser, on this machine only.",
    "doctor": "What is wrong with these files, and exactly where.",
    "demo": "Audit bundled embeddings of real speech.",
    "metrics": "Every measure: unit, range, direction, meaning, reference.",
    "cite": "BibTeX for this toolkit and for the measures.",
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and summaries without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"zeroevidence.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries from the table above instead of importing every command for its own."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zeroevidence")
def cli() -> None:
    """Measure how much a protected voice still gives away.

    Start with `zeroevidence demo`, or with your own files: `zeroevidence evaluate SCORES --key KEY`.

    Exit codes: 0 done, 1 a gate failed, 2 wrong usage, 3 bad input, 4 an optional part is missing.
    """


def main(args: list[str] | None = None) -> Any:
    """Run the command line; errors become one message and an exit code."""
    try:
        cli.main(args=args, prog_name="zeroevidence", standalone_mode=False)
    except ZeroEvidenceError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except MemoryError:
        click.echo("out of memory", err=True)
        sys.exit(1)
    sys.exit(0)
