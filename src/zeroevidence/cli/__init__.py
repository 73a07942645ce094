"""The command line: one file per command, loaded only when that command runs."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from zeroevidence._version import __version__
from zeroevidence.cli.lazy import LazyGroup
from zeroevidence.errors import OutOfMemory, OutputError, UsageError, ZeroEvidenceError

_COMMANDS = {
    "audit": "Attack anonymised speech and say what the attackers learn.",
    "evaluate": "Score files in, evidence out.",
    "protect": "Remove an attribute from embeddings: fit, apply, evaluate.",
    "tandem": "A verifier behind a countermeasure: t-DCF and its relatives.",
    "compare": "Several systems on the same trials: differences, ranking, ties.",
    "link": "From embeddings to disclosure, without the score matrix.",
    "utility": "What protected speech is still good for: words, emotions, lengths.",
    "kit": "VoicePrivacy kits: check their speech, write their tables.",
    "plan": "Before you record: how many people, and what to expect.",
    "plot": "A figure for a paper, from results.",
    "report": "One page that says what was found, from results or score files.",
    "serve": "The report in a browser, on this machine only.",
    "doctor": "Say what is wrong with files, and exactly where.",
    "demo": "Audit bundled embeddings of real speech.",
    "models": "List, add and check speaker encoders.",
    "train-attacker": "Fine-tune an encoder on protected speech, to attack with.",
    "metrics": "Every measure: unit, range, direction, meaning, reference.",
    "cite": "BibTeX for this toolkit and for the measures.",
}


@click.group(
    cls=LazyGroup,
    home="zeroevidence.cli.commands",
    summaries=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="zeroevidence")
def cli() -> None:
    """Measure how much a protected voice still gives away.

    Start with `zeroevidence demo`, or with your own files: `zeroevidence evaluate SCORES --key KEY`.

    Exit codes: 0 done, 1 a gate failed, 2 wrong usage, 3 bad input, 4 an optional part is missing,
    5 out of memory, 6 a file could not be written.
    """


def main(args: list[str] | None = None) -> Any:
    """Run the command line; errors become one message and an exit code."""
    try:
        cli.main(args=args, prog_name="zeroevidence", standalone_mode=False)
        sys.stdout.flush()
    except ZeroEvidenceError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(max(error.exit_code, UsageError.exit_code))  # 1 is the gate's
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except MemoryError:
        click.echo(str(OutOfMemory()), err=True)
        sys.exit(OutOfMemory.exit_code)
    except OSError as error:
        _refused(error)
    sys.exit(0)


def _refused(error: OSError) -> NoReturn:
    """Say which file the system refused to read or write, and why."""
    if error.filename is not None:
        click.echo(f"{error.filename}: {error.strerror or error}", err=True)
        sys.exit(ZeroEvidenceError.exit_code)
    click.echo(str(OutputError(error)), err=True)
    # what is left in the buffer would be tried, and complained about, once more at the end
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    sys.exit(OutputError.exit_code)
