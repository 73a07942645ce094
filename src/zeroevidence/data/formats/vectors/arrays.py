"""Formats of embeddings: NumPy, torch, CSV and Parquet."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, MutableMapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import check_archive, check_array, open_array, reading_file
from zeroevidence.data.formats.input_file import NPY, NPZ, PARQUET, InputFile, load_parquet
from zeroevidence.data.formats.vectors.read import VECTOR_FORMATS, VectorFormat, with_names
from zeroevidence.data.json_values import read_json
from zeroevidence.data.scores import frozen
from zeroevidence.errors import InputError
from zeroevidence.optional import optional

VECTORS = ("vectors", "embeddings", "embedding", "x")
IDS = ("utterance", "ids", "id", "utterance_id", "utt", "utterances")
SPEAKERS = ("speaker", "speakers", "speaker_id", "spk")


def pop_named(values: MutableMapping[str, Any], names: tuple[str, ...]) -> Any:
    """Take out the value with the first of these names that is there; None where none is."""
    return next((values.pop(name) for name in names if name in values), None)


def text_column(frame: pl.DataFrame, name: str | None) -> Any:
    """Return a column as an array of text; None where there is no such column."""
    return None if name is None else frame[name].cast(pl.String).fill_null("").to_numpy()


def read_npy(file: InputFile) -> Embeddings:
    """Return the vectors, with the identifiers of ``NAME.ids`` or ``NAME.txt``."""
    with reading_file(file.name, "NumPy npy"), file.stream() as stream:
        check_array(stream, len(file.held) if file.held is not None else file.path.stat().st_size, file.name)
        stream.seek(0)
        vectors = np.load(stream, allow_pickle=False) if file.held is not None else open_array(file.path)
    for ending in (".ids", ".txt"):
        beside = file.path.with_suffix(ending)
        if file.held is None and beside.is_file():
            return with_names(vectors, beside)
    return Embeddings(vectors)


def read_npz(file: InputFile) -> Embeddings:
    """Return the embeddings of an archive; its other arrays of text or numbers are attributes."""
    with reading_file(file.name, "NumPy npz"), file.stream() as stream:
        check_archive(stream, file.name)
        with np.load(stream, allow_pickle=False) as loaded:
            arrays = {name: frozen(loaded[name]) for name in loaded.files}
    vectors = pop_named(arrays, VECTORS)
    if vectors is None:
        raise InputError(f"no array named vectors (found: {', '.join(arrays) or 'none'}); expected one", path=file.name)
    ids, speakers = pop_named(arrays, IDS), pop_named(arrays, SPEAKERS)
    attributes = {
        name: array for name, array in arrays.items() if array.shape == (len(vectors),) and array.dtype.kind in "USiuf"
    }
    return Embeddings(vectors, ids, speakers, attributes)


def read_tensors(file: InputFile) -> Embeddings:
    """Return the vectors of a file of tensors; a file that would run code is refused."""
    torch = optional("torch", "torch", f"{file.name}: reading tensors")
    with file.stream() as stream:
        loaded = _load_tensors(stream, file.name)
    index: Mapping[Any, Any] | None = None
    speakers: Mapping[Any, Any] = {}
    if isinstance(loaded, Mapping):
        index, speakers = loaded.get("id2idx"), loaded.get("idx2spk") or {}
        loaded = next((loaded[name] for name in VECTORS if name in loaded), None)
    if not isinstance(loaded, torch.Tensor):
        raise InputError("no tensor of vectors; expected one, or a mapping with vectors", path=file.name)
    index = _index_beside(file) if index is None else index
    if not isinstance(index, (Mapping, type(None))):
        raise InputError("id2idx: expected a mapping of identifiers to rows", path=file.name)
    if loaded.ndim != 2 or not loaded.is_floating_point() or loaded.layout != torch.strided or loaded.is_meta:
        kind = f"{str(loaded.dtype).removeprefix('torch.')} of shape {tuple(loaded.shape)}"
        raise InputError(f"a tensor of {kind}; expected one vector of floats per row", path=file.name)
    loaded = loaded.detach()
    vectors = (loaded if loaded.dtype in (torch.float16, torch.float32, torch.float64) else loaded.float()).numpy()
    if index is None:
        return Embeddings(vectors)
    ids = _ids_by_row(index, len(vectors), file.name)
    speakers = speakers if isinstance(speakers, Mapping) else {}
    names = [speakers.get(row, speakers.get(str(row))) for row in range(len(ids))]
    if None in names:
        names = ids  # one vector per speaker: the identifier is the speaker
    return Embeddings(vectors, np.array(ids), np.array([str(name) for name in names]))


def _load_tensors(stream: Any, path: str | Path) -> Any:
    """Return what torch saved; its own messages advise to run the code that a refused file may hold."""
    import torch

    with reading_file(path, "tensors"):
        if zipfile.is_zipfile(stream):
            stream.seek(0)
            check_archive(stream, path)
        stream.seek(0)
        try:
            return torch.load(stream, map_location="cpu", weights_only=True)
        except MemoryError:
            raise
        except Exception:
            reason = "damaged, or holds more than tensors, which is never read, as that may run code"
            raise InputError(f"{reason}; expected torch.save(vectors, FILE), or a mapping with vectors") from None


def _index_beside(file: InputFile) -> Mapping[Any, Any] | None:
    beside = file.path.parent / "id2idx"
    for path in (beside, beside.with_suffix(".json")):
        if file.held is None and path.is_file():
            with reading_file(path, "a mapping"):
                data = path.read_bytes()
                json = data.lstrip().startswith(b"{")
                index = read_json(data.decode(), path) if json else _load_tensors(BytesIO(data), path)
            if not isinstance(index, dict):
                raise InputError("expected a mapping of identifiers to rows", path=path)
            return index
    return None


def _ids_by_row(index: Mapping[Any, Any], count: int, name: str) -> list[str]:
    """Return the identifier of each row."""
    ids: dict[int, str] = {}
    for key, row in index.items():
        if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < count:
            raise InputError(f"id2idx: {key!r} names row {row!r}; expected 0 to {count - 1}", path=name)
        if row in ids:
            raise InputError(f"id2idx: row {row} is {ids[row]!r} and {key!r}; expected one", path=name)
        ids[row] = str(key)
    missing = next((row for row in range(count) if row not in ids), None)
    if missing is not None:
        raise InputError(f"id2idx names no identifier for row {missing}; expected one for each", path=name)
    return [ids[row] for row in range(count)]


_NAMES = (*IDS, "name", "file", "filename")
_SEPARATORS = (",", ";", "\t")


def read_csv(file: InputFile) -> Embeddings:
    """Return the vectors of a table with a header: columns of numbers, in their order; others are attributes."""
    first = file.read().partition(b"\n")[0].decode("utf-8", errors="replace")
    separator = max(_SEPARATORS, key=first.count)
    try:
        with file.stream() as stream:
            frame = pl.read_csv(stream, separator=separator, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read as a table: {str(error).splitlines()[0]}", path=file.name) from None
    columns = {name: name for name in frame.columns}
    ids, speakers = pop_named(columns, _NAMES), pop_named(columns, SPEAKERS)
    numbers = [name for name in columns if frame[name].dtype.is_numeric()]
    if not numbers or frame.is_empty():
        first = ", ".join(frame.columns[:6])
        raise InputError(f"no columns of numbers (found: {first}); expected a header and features", path=file.name)
    for name in (*numbers, *filter(None, (ids, speakers))):
        empty = frame[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"column {name} is empty; expected a value", path=file.name, line=int(empty[0]) + 2)
    vectors = frame.select(numbers).cast(pl.Float64).to_numpy()
    return _named(vectors, frame, ids, speakers, [name for name in columns if frame[name].dtype == pl.String])


def read_parquet(file: InputFile) -> Embeddings:
    """Return the embeddings of a table; its other columns of text or numbers are attributes."""
    frame = load_parquet(file)
    columns = {name: name for name in frame.columns}
    at = pop_named(columns, VECTORS)
    if at is None:
        raise InputError(f"no column embedding (found: {', '.join(frame.columns)}); expected one", path=file.name)
    vectors = _vectors(frame[at], file.name)
    ids, speakers = pop_named(columns, IDS), pop_named(columns, SPEAKERS)
    for name in filter(None, (ids, speakers)):
        empty = frame[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"row {empty[0]}: no {name}; expected one", path=file.name)
    labels = [name for name in columns if frame[name].dtype == pl.String or frame[name].dtype.is_numeric()]
    return _named(vectors, frame, ids, speakers, labels)


def _named(
    vectors: FloatArray, frame: pl.DataFrame, ids: str | None, speakers: str | None, labels: Sequence[str]
) -> Embeddings:
    """Return vectors with the text of these columns."""
    attributes = {name: text_column(frame, name) for name in labels}
    return Embeddings(vectors, text_column(frame, ids), text_column(frame, speakers), attributes)


def _vectors(lists: pl.Series, name: str) -> FloatArray:
    """Return a column of lists of the same length as one array."""
    at = lists.name
    if lists.dtype.base_type() not in (pl.List, pl.Array):
        raise InputError(f"column {at} is of type {lists.dtype}; expected lists of numbers", path=name)
    if lists.dtype.base_type() == pl.Array:
        lists = lists.arr.to_list()
    if len(lists) == 0:
        raise InputError("no rows; expected one vector in each", path=name)
    lengths = lists.list.len()
    odd = (lengths != lengths[0]).fill_null(True).arg_true()
    if len(odd):
        row = int(odd[0])
        size = "null" if lengths[row] is None else f"{lengths[row]} entries"
        raise InputError(f"row {row}: {size}, the first row has {lengths[0]}; expected the same", path=name)
    flat = lists.explode()
    if not flat.dtype.is_numeric():
        raise InputError(f"column {at} is of type {lists.dtype}; expected lists of numbers", path=name)
    missing = flat.is_null().arg_true()
    if len(missing):
        raise InputError(f"row {int(missing[0]) // lengths[0]}: a null entry; expected numbers", path=name)
    return flat.to_numpy().reshape(len(lists), -1)


VECTOR_FORMATS.add(
    VectorFormat(
        name="npy",
        description="NumPy array, which `link` reads in blocks, with lines of `utterance [speaker]` in `NAME.ids` or "
        "`NAME.txt` beside it",
        read=read_npy,
        containers=(NPY,),
        place=30,
    ),
    VectorFormat(
        name="npz",
        description="NumPy archive with `vectors`, `utterance` or `ids`, `speaker`; other arrays of text or numbers "
        "are attributes",
        read=read_npz,
        containers=(NPZ,),
        place=20,
    ),
    VectorFormat(
        name="pt",
        description="torch tensor, or a mapping with `vectors`, joined by `id2idx` in it or beside it, as in "
        "VoicePrivacy",
        read=read_tensors,
        suffix=".pt",
        place=10,
    ),
    VectorFormat(
        name="parquet",
        description="Parquet with `embedding` (lists), `utterance_id`, `speaker_id`; other columns of text or numbers "
        "are attributes",
        read=read_parquet,
        containers=(PARQUET,),
        place=40,
    ),
    *(
        VectorFormat(
            name=suffix.removeprefix("."),
            description="a table of features with a header: `utterance` (`name`), `speaker`; columns of numbers are "
            "the vector, columns of text attributes",
            read=read_csv,
            suffix=suffix,
            place=45,
        )
        for suffix in (".csv", ".tsv")
    ),
)
