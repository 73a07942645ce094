"""Reading and writing embeddings, and the formats that there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings, are_numbers
from zeroevidence.data.files import ArrayOnDisk, reading_file, unchanged
from zeroevidence.data.formats.input_file import Container, InputFile, open_input, refuse_pickle
from zeroevidence.data.printable import compose
from zeroevidence.data.writing import refuse_existing, write_atomically
from zeroevidence.errors import InputError, UsageError
from zeroevidence.optional import optional
from zeroevidence.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFormat:
    """One format of embedding files.

    Parameters
    ----------
    name
        What lists and messages call it.
    description
        One line for documentation.
    read
        Returns the embeddings of a file.
    suffix
        How the name of a file ends.
    containers
        The kinds of binary files that are read; a format without suffix and containers takes any file.
    place
        Position in the order in which formats are tried; new ones come before the one that takes any file.
    """

    name: str
    description: str
    read: Callable[[InputFile], Embeddings]
    suffix: str = ""
    containers: tuple[Container, ...] = ()
    place: int = 100

    def recognises(self, file: InputFile) -> bool:
        """Return whether a file looks like one of this format."""
        named = file.name.endswith(self.suffix) if self.suffix else not self.containers
        return named or any(map(file.is_in, self.containers))


VECTOR_FORMATS: Registry[VectorFormat] = Registry(
    "embedding format", package="zeroevidence.data.formats.vectors", order=lambda format: (format.place, format.name)
)


def read_list(path: Path) -> list[tuple[str, str | None]]:
    """Return both columns of each line, None for the second where a line has one column."""
    lines: list[tuple[str, str | None]] = []
    try:
        with unchanged(path):
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


def read_embeddings(path: str | Path, *, ids: str | Path | None = None, on_disk: bool = False) -> Embeddings:
    r"""Return the embeddings of a file in any of the `VECTOR_FORMATS`.

    Parameters
    ----------
    path
        The file; an address with ``://`` is read through fsspec.
    ids
        Lines of `utterance [speaker]`, in the order of the vectors for ``.npy``, by identifier for the others.
    on_disk
        Leave the vectors of an ``.npy`` file there, for a search through more than fits the memory.

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
        read = _with_speakers(format.read(file), ids)
        if on_disk or not isinstance(read.vectors, ArrayOnDisk):
            return read
        return replace(read, vectors=np.asarray(read.vectors))


def _fetch(address: str) -> InputFile:
    if address.startswith("file://"):
        return open_input(address.removeprefix("file://"))
    fsspec = optional("fsspec", "cluster", f"{address}: reading from an address")
    with fsspec.open(address, "rb") as stream:
        return InputFile.holding(address, stream.read())


def _with_speakers(embeddings: Embeddings, ids: str | Path | None) -> Embeddings:
    """Return the embeddings with the identifiers and speakers of a list."""
    if ids is None:
        return embeddings
    path = Path(ids)
    if isinstance(embeddings.vectors, ArrayOnDisk) and are_numbers(embeddings.ids):
        return with_names(embeddings.vectors, path)
    listed = {compose(name): speaker for name, speaker in read_list(path)}
    speakers = [listed.get(name) for name in embeddings.ids.tolist()]
    if None in speakers:
        missing = str(embeddings.ids[speakers.index(None)])
        raise InputError(f"{missing!r} is not in {path} with a speaker; expected every utterance")
    return replace(embeddings, speakers=np.array(speakers))


def read_labelled(
    path: str | Path, attribute: str, *, labels: str | Path | None = None, speakers: str | Path | None = None
) -> Embeddings:
    """Return embeddings with an attribute.

    Parameters
    ----------
    path
        The embeddings.
    attribute
        What the labels are called.
    labels
        Lines of `utterance label` or `speaker label`, where the embeddings do not have the attribute.
    speakers
        Lines of `utterance speaker`, where the embeddings do not name speakers.
    """
    data = read_embeddings(path, ids=speakers)
    if labels is None:
        return data
    by_name: dict[str, str] = {}
    for number, (name, label) in enumerate(read_list(Path(labels)), 1):
        if label is None:
            raise InputError("one column; expected a name and a label", path=labels, line=number)
        name = compose(name)
        if by_name.setdefault(name, label) != label:
            raise InputError(f"{name!r} is {by_name[name]!r} above; expected one label", path=labels, line=number)
    people = data.ids if data.speakers is None else data.speakers
    values = [by_name.get(ids[0], by_name.get(ids[1])) for ids in zip(data.ids.tolist(), people.tolist(), strict=True)]
    if None in values:
        utterance = str(data.ids[values.index(None)])
        raise InputError(f"no label for {utterance!r}; expected its name or its speaker's", path=labels)
    return replace(data, attributes={**data.attributes, attribute: np.array(values)})


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
    write_atomically(Path(path), partial(write_arrays, embeddings), overwrite=overwrite)


def write_arrays(embeddings: Embeddings, path: Path) -> None:
    """Write the arrays of embeddings to a file, whatever its name."""
    arrays = {"vectors": np.asarray(embeddings.vectors), "utterance": embeddings.ids, **embeddings.attributes}
    if embeddings.speakers is not None:
        arrays["speaker"] = embeddings.speakers
    with path.open("wb") as file:  # an open file: a name without .npz would get it added
        np.savez(file, allow_pickle=False, **arrays)


def check_name(path: str | Path) -> None:
    """Refuse a file name that does not end in ``.npz``."""
    if Path(path).suffix != ".npz":
        raise UsageError(f"{path}: embeddings are written as NumPy npz; expected a name that ends in .npz")
