"""Names of files as people give them."""

from __future__ import annotations

from pathlib import Path


def is_folder(path: str | Path) -> bool:
    """Whether a name is a folder; False for names that no file can have.

    Examples
    --------
    >>> is_folder("."), is_folder("x" * 5000)
    (True, False)
    """
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False
