"""``python -m zeroevidence``."""

from zeroevidence.cli import main

main()
