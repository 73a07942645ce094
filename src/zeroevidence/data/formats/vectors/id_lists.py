"""Text files beside vectors: lines of `utterance`, or of an utterance and its speaker or another word about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError


def read_list(path: Path) -> list[tuple[str, str | None]]:
    """The first column and the second, None where a line has one column."""
    found: list[tuple[str, str | None]] = []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as text: {error}", path=path) from None
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if len(cells) not in (1, 2):
            raise InputError(
                f"{len(cells)} columns; expected `utterance` or `utterance speaker`", path=path, line=number
            )
        found.append((cells[0], cells[1] if len(cells) == 2 else None))
    return found


def with_names(vectors: FloatArray, path: Path) -> Embeddings:
    """Vectors with the identifiers and speakers of a text file, line by line."""
    lines = read_list(path)
    if len(lines) != len(vectors):
        raise InputError(f"{len(lines)} lines for {len(vectors)} vectors; expected one line per vector", path=path)
    names, people = np.array([one for one, _ in lines]), [speaker for _, speaker in lines]
    known = None if any(speaker is None for speaker in people) else np.array(people, dtype=np.str_)
    return Embeddings(vectors, names, known)
