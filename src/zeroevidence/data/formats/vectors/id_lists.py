"""Text files beside vectors: lines of `utterance`, or of an utterance and its speaker or another label."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError


def read_list(path: Path) -> list[tuple[str, str | None]]:
    """Return both columns of each line, None for the second where a line has one column."""
    lines: list[tuple[str, str | None]] = []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as text: {error}", path=path) from None
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if len(cells) not in (1, 2):
            reason = f"{len(cells)} columns; expected `utterance` or `utterance speaker`"
            raise InputError(reason, path=path, line=number)
        lines.append((cells[0], cells[1] if len(cells) == 2 else None))
    return lines


def with_names(vectors: FloatArray, path: Path) -> Embeddings:
    """Return vectors with the identifiers and speakers of a text file, line by line."""
    lines = read_list(path)
    if len(lines) != len(vectors):
        raise InputError(f"{len(lines)} lines for {len(vectors)} vectors; expected one line per vector", path=path)
    ids, speakers = zip(*lines, strict=True)
    return Embeddings(vectors, np.array(ids), None if None in speakers else np.array(speakers, dtype=np.str_))
