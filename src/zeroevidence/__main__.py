"""``python -m zeroevidence``."""

from zeroevidence.cli import main

if __name__ == "__main__":  # not in a process that was started to help
    main()
