"""``python -m zeroevidence``."""

import sys

from zeroevidence.errors import Interrupted, interruptible


def main() -> None:
    """Run the command line; a signal ends it with one line, also while modules are imported."""
    try:
        with interruptible():
            from zeroevidence.cli import main as run_command_line
    except Interrupted as interruption:
        print(interruption, file=sys.stderr)
        sys.exit(interruption.exit_code)
    run_command_line()


if __name__ == "__main__":  # not in a process that was started to help
    main()
