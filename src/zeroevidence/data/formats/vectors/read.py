"""Reading embeddings from a file of any format, here or at an address, and words about them."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.formats.input_file import InputFile, locate
from zeroevidence.data.formats.vectors.id_lists import read_list, with_names
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS
from zeroevidence.errors import InputError, MissingExtra


def read_embeddings(path: str | Path, *, ids: str | Path | None = None) -> Embeddings:
    r"""The embeddings in a file of any of the formats in `VECTOR_FORMATS`.

    Parameters
    ----------
    path
        The file; an address with ``://`` is read through fsspec.
    ids
        Lines of `utterance [speaker]`, in the order of the vectors for ``.npy``, by identifier for the others.

    Raises
    ------
    InputError
        Naming the file, and the row or line where that helps.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "vectors.ark").write_text("u1  [ 1 2.5 -3 ]\nu2  [ 0.5 0 4 ]\n")
    >>> _ = (folder / "utt2spk").write_text("u1 ada\nu2 bob\n")
    >>> found = read_embeddings(folder / "vectors.ark")
    >>> found.vectors.shape, found.ids.tolist(), found.speakers.tolist()
    ((2, 3), ['u1', 'u2'], ['ada', 'bob'])
    """
    name = str(path)
    with reading_file(name, "embeddings"):
        file = _fetched(name) if "://" in name else locate(path)
        format = next(one for one in VECTOR_FORMATS.values() if one.recognises(file))
        return _with_people(format.read(file), ids)


def read_labels(path: str | Path) -> dict[str, str]:
    """A text file of two columns, a name and a word about it; each name once."""
    words: dict[str, str] = {}
    for number, (name, word) in enumerate(read_list(Path(path)), 1):
        if word is None:
            raise InputError("one column; expected a name and a word", path=path, line=number)
        if words.setdefault(name, word) != word:
            raise InputError(f"{name!r} is {words[name]!r} above; expected one word", path=path, line=number)
    return words


def _fetched(address: str) -> InputFile:
    if address.startswith("file://"):
        return locate(address.removeprefix("file://"))
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise MissingExtra("cluster", f"{address}: reading from an address") from None
    with fsspec.open(address, "rb") as stream:
        return InputFile.holding(address, stream.read())


def _with_people(found: Embeddings, ids: str | Path | None) -> Embeddings:
    """The same with the names and speakers of a list that was given."""
    if ids is None:
        return found
    path = Path(ids)
    if isinstance(found.vectors, np.memmap) and (found.ids == np.arange(len(found)).astype(np.str_)).all():
        return with_names(found.vectors, path)
    known = dict(read_list(path))
    missing = next((str(one) for one in found.ids if known.get(str(one)) is None), None)
    if missing is not None:
        raise InputError(f"{missing!r} is not in {path} with a speaker; expected every utterance")
    return Embeddings(found.vectors, found.ids, np.array([known[str(one)] for one in found.ids]), found.attributes)
