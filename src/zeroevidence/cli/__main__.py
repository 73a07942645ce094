"""``python -m zeroevidence.cli``."""

from zeroevidence.cli import main

main()
