"""``python -m zeroevidence``."""

import os
import sys
import warnings

from zeroevidence.errors import Interrupted, interruptible


def open_closed_streams() -> None:
    """Open standard streams that are closed, or the next files would take their numbers.

    Standard input cannot be read then, nor standard output written; messages are discarded.
    """
    for number, (name, mode, flag) in enumerate(
        (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
    ):
        if getattr(sys, name) is None:
            os.open(os.devnull, flag)  # takes the lowest number that is free: this one
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def main() -> None:
    """Run the command line; a signal ends it with one line, also while modules are imported.

    Warnings of libraries are for developers, who ask for them with ``python -W``; users are told in words.
    """
    open_closed_streams()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", "the Hopper kernel is unavailable")
        os.environ["PYTHONWARNINGS"] = "ignore"  # of processes that it starts
    try:
        with interruptible():
            from zeroevidence.cli import main as run_command_line
    except Interrupted as interruption:
        print(interruption, file=sys.stderr)
        sys.exit(interruption.exit_code)
    run_command_line()


if __name__ == "__main__":  # not in a process that was started to help
    main()
