"""Writing embeddings to a file that `read_embeddings` reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.writing import refuse_existing, write_atomically
from zeroevidence.errors import UsageError


def write_embeddings(embeddings: Embeddings, path: str | Path, *, overwrite: bool = False) -> None:
    """Write vectors, identifiers, speakers and attributes as NumPy npz, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import zeroevidence as ze
    >>> made = ze.Embeddings(np.eye(2), ["u1", "u2"], ["ada", "bob"], {"sex": ["f", "m"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_embeddings(made, f"{folder}/made.npz")
    ...     read = ze.read_embeddings(f"{folder}/made.npz")
    >>> read.speakers.tolist(), read.attributes["sex"].tolist()
    (['ada', 'bob'], ['f', 'm'])
    """
    check_name(path)
    refuse_existing(path, overwrite)
    arrays = {"vectors": np.asarray(embeddings.vectors), "utterance": embeddings.ids, **embeddings.attributes}
    if embeddings.speakers is not None:
        arrays["speaker"] = embeddings.speakers

    def write(place: Path) -> None:
        with place.open("wb") as file:  # an open file: a name without .npz would get it added
            np.savez(file, allow_pickle=False, **arrays)

    write_atomically(Path(path), write)


def check_name(path: str | Path) -> None:
    """Refuse a file name that does not end in ``.npz``."""
    if Path(path).suffix != ".npz":
        raise UsageError(f"{path}: embeddings are written as NumPy npz; expected a name that ends in .npz")
