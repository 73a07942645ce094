"""The command line: one file per command, imported only when that command runs."""

from __future__ import annotations

import errno
import sys
from typing import Any, NoReturn

import click

from zeroevidence import __version__
from zeroevidence.cli.lazy import LazyGroup
from zeroevidence.cli.printing import discard, echo, echo_usage, prepare_streams
from zeroevidence.errors import Interrupted, OutOfMemory, OutputError, UsageError, ZeroEvidenceError, interruptible

_ORDER = (  # as a newcomer needs them
    *("demo", "audit", "anonymise", "evaluate", "report", "serve", "plot", "compare", "doctor", "plan", "utility"),
    *("protect", "link", "tandem", "kit", "train-attacker", "models", "metrics", "cache", "cite"),
)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # nothing more can be written


@click.group(
    cls=LazyGroup,
    package="zeroevidence.cli.commands",
    order=_ORDER,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="zeroevidence")
def cli() -> None:
    """Measure how much protected speech still discloses about who speaks.

    Start with `zeroevidence demo`. To evaluate your own score files: `zeroevidence evaluate SCORES --key KEY`. To audit
    anonymised speech: `zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT`.

    Exit codes: 0 success, 1 a --fail-if condition holds, 2 wrong usage, 3 bad input, 4 an optional dependency is
    missing, 5 out of memory, 6 a file could not be written, 130 Ctrl-C, 143 SIGTERM.
    """


def main(args: list[str] | None = None) -> Any:
    """Run the command line and exit; an error becomes one message and an exit code."""
    prepare_streams()
    try:
        # without `cli.main`, which exits with 1 where nobody reads standard output
        with interruptible(), cli.make_context("zeroevidence", sys.argv[1:] if args is None else args) as context:
            cli.invoke(context)
            sys.stdout.flush()
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except (ZeroEvidenceError, Interrupted) as error:
        _end_with(error)
    except click.ClickException as error:
        echo_usage(error)
        sys.exit(max(error.exit_code, UsageError.exit_code))  # 1 is for --fail-if
    except KeyboardInterrupt:
        _end_with(Interrupted())
    except MemoryError:
        _end_with(OutOfMemory())
    except OSError as error:
        _end_with(_about_file(error))
    sys.exit(0)


def _end_with(error: ZeroEvidenceError | Interrupted) -> NoReturn:
    """Print an error, and exit with its code."""
    echo(error, err=True)
    sys.exit(error.exit_code)


def _about_file(error: OSError) -> ZeroEvidenceError:
    """Return which file could not be read or written, and why."""
    if error.filename is None:
        discard(1)
        return OutputError(error)
    if error.errno in _FULL:
        return OutputError(error, error.filename)
    return ZeroEvidenceError(f"{error.filename}: {error.strerror or error}")
