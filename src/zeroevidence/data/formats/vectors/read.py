"""Reading embeddings from a file of any format, here or at an address, and labels for them."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.formats.input_file import InputFile, open_input, refuse_pickle
from zeroevidence.data.formats.vectors.id_lists import read_list, with_names
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS
from zeroevidence.errors import InputError, MissingExtra


def read_embeddings(path: str | Path, *, ids: str | Path | None = None) -> Embeddings:
    r"""Return the embeddings of a file in any of the `VECTOR_FORMATS`.

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
    >>> embeddings = read_embeddings(folder / "vectors.ark")
    >>> embeddings.vectors.shape, embeddings.ids.tolist(), embeddings.speakers.tolist()
    ((2, 3), ['u1', 'u2'], ['ada', 'bob'])
    """
    name = str(path)
    with reading_file(name, "embeddings"):
        file = _fetch(name) if "://" in name else open_input(path)
        format = next(format for format in VECTOR_FORMATS.values() if format.recognises(file))
        if format.name != "pt":  # of which torch reads tensors, and nothing that runs code
            refuse_pickle(file, "np.savez('vectors.npz', vectors=vectors, utterance=names, speaker=speakers)")
        return _with_speakers(format.read(file), ids)


def read_labels(path: str | Path) -> dict[str, str]:
    """Return the labels of a text file of two columns, a name and its label; each name has one."""
    labels: dict[str, str] = {}
    for number, (name, label) in enumerate(read_list(Path(path)), 1):
        if label is None:
            raise InputError("one column; expected a name and a label", path=path, line=number)
        if labels.setdefault(name, label) != label:
            raise InputError(f"{name!r} is {labels[name]!r} above; expected one label", path=path, line=number)
    return labels


def _fetch(address: str) -> InputFile:
    if address.startswith("file://"):
        return open_input(address.removeprefix("file://"))
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise MissingExtra("cluster", f"{address}: reading from an address") from None
    with fsspec.open(address, "rb") as stream:
        return InputFile.holding(address, stream.read())


def _with_speakers(embeddings: Embeddings, ids: str | Path | None) -> Embeddings:
    """Return the embeddings with the identifiers and speakers of a list."""
    if ids is None:
        return embeddings
    path = Path(ids)
    numbered = (embeddings.ids == np.arange(len(embeddings)).astype(np.str_)).all()
    if isinstance(embeddings.vectors, np.memmap) and numbered:
        return with_names(embeddings.vectors, path)
    listed = dict(read_list(path))
    speakers = [listed.get(name) for name in embeddings.ids.tolist()]
    if None in speakers:
        missing = str(embeddings.ids[speakers.index(None)])
        raise InputError(f"{missing!r} is not in {path} with a speaker; expected every utterance")
    return Embeddings(embeddings.vectors, embeddings.ids, np.array(speakers), embeddings.attributes)
