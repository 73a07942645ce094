"""Embedding files: NumPy, Parquet, Kaldi ark and scp, VoicePrivacy `speaker_vectors.pt`. Nothing is unpickled.

| file | vectors | identifiers, speakers |
| --- | --- | --- |
| ``.npz`` | ``vectors``, ``embeddings``, ``x`` | ``utterance``, ``ids`` or ``utt``; ``speaker`` or ``spk``; words |
| ``.npy`` | the array, memory-mapped | lines of `utterance [speaker]` in ``NAME.ids`` or ``NAME.txt`` beside it |
| Parquet | ``embedding`` | ``utterance_id``, ``speaker_id``; other columns of words |
| Kaldi | ``utterance  [ 1.2 ... ]`` or binary FV, DV | `utt2spk` beside it |
| ``.pt`` | tensor, or ``vectors`` in a mapping | ``id2idx`` in it or beside it, joined by index |
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.kaldi_vectors import read_ark, read_scp
from zeroevidence.data.formats.source import Source, locate
from zeroevidence.errors import InputError, MissingExtra

_VECTORS = ("vectors", "embeddings", "embedding", "x")
_IDS = ("utterance", "ids", "id", "utterance_id", "utt", "utterances")
_SPEAKERS = ("speaker", "speakers", "speaker_id", "spk")


def read_embeddings(path: str | Path, *, ids: str | Path | None = None) -> Embeddings:
    """The embeddings in a file of any of the formats above.

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
    """
    name = str(path)
    try:
        if "://" in name:
            return _with_people(_read(_fetched(name)), ids)
        return _with_people(_read(locate(path)), ids)
    except InputError as error:
        raise error if error.path is not None else InputError(error.reason, path=name) from None


def _fetched(address: str) -> Source:
    if address.startswith("file://"):
        return locate(address.removeprefix("file://"))
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise MissingExtra("cluster", f"{address}: reading from an address") from None
    with fsspec.open(address, "rb") as stream:
        data = stream.read()
    kinds = ((b"PAR1", "parquet"), (b"PK", "npz"), (b"\x93NUMPY", "npy"))
    kind = next((kind for magic, kind in kinds if data.startswith(magic)), "text")
    return Source(address, kind, Path(address), data)


def _read(source: Source) -> Embeddings:
    if source.name.endswith(".pt"):
        return _read_pt(source)
    if source.kind == "npz":
        return _read_npz(source)
    if source.kind == "npy":
        return _read_npy(source)
    if source.kind == "parquet":
        return _read_parquet(source)
    found = read_scp(source) if source.name.endswith(".scp") else read_ark(source.read(), source.name)
    people = source.path.parent / "utt2spk"
    speakers = None
    if source.held is None and people.is_file():
        known = dict(_lines(people))
        if all(one in known for one in found):
            speakers = [known[one] or "" for one in found]
    return Embeddings(
        stacked(found, source.name), np.array(list(found)), None if speakers is None else np.array(speakers)
    )


def stacked(found: Mapping[str, FloatArray], name: str) -> FloatArray:
    """Vectors by name as one array; all must have the same length."""
    if not found:
        raise InputError("empty; expected one vector per line", path=name)
    lengths = {len(vector) for vector in found.values()}
    if len(lengths) > 1:
        first = len(next(iter(found.values())))
        odd = next(one for one, vector in found.items() if len(vector) != first)
        raise InputError(
            f"{odd!r} has {len(found[odd])} entries, the first vector {first}; expected the same", path=name
        )
    return np.stack(list(found.values()))


def _read_npz(source: Source) -> Embeddings:
    try:
        with source.stream() as stream, np.load(stream, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except Exception as error:  # a damaged archive fails wherever the damage is
        raise InputError(f"cannot be read as NumPy npz: {error}", path=source.name) from None
    vectors = _pop(arrays, _VECTORS)
    if vectors is None:
        raise InputError(
            f"no array named vectors (found: {', '.join(arrays) or 'none'}); expected one", path=source.name
        )
    ids, speakers = _pop(arrays, _IDS), _pop(arrays, _SPEAKERS)
    words = {
        name: array for name, array in arrays.items() if array.shape == (len(vectors),) and array.dtype.kind in "US"
    }
    return Embeddings(vectors, ids, speakers, words)


def _pop(arrays: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((arrays.pop(name) for name in names if name in arrays), None)


def _read_npy(source: Source) -> Embeddings:
    try:
        if source.held is not None:
            with source.stream() as stream:
                vectors = np.load(stream, allow_pickle=False)
        else:
            vectors = np.load(source.path, mmap_mode="r", allow_pickle=False)
    except Exception as error:
        raise InputError(f"cannot be read as NumPy npy: {error}", path=source.name) from None
    for ending in (".ids", ".txt"):
        beside = source.path.with_suffix(ending)
        if source.held is None and beside.is_file():
            return _named(vectors, beside)
    return Embeddings(vectors)


def _named(vectors: FloatArray, beside: Path) -> Embeddings:
    """Vectors with the identifiers and speakers of a text file, line by line."""
    lines = _lines(beside)
    if len(lines) != len(vectors):
        raise InputError(f"{len(lines)} lines for {len(vectors)} vectors; expected one line per vector", path=beside)
    names, people = np.array([one for one, _ in lines]), [speaker for _, speaker in lines]
    known = None if any(speaker is None for speaker in people) else np.array(people, dtype=np.str_)
    return Embeddings(vectors, names, known)


def read_words(path: str | Path) -> dict[str, str]:
    """A text file of two columns, a name and a word about it; each name once."""
    words: dict[str, str] = {}
    for number, (name, word) in enumerate(_lines(Path(path)), 1):
        if word is None:
            raise InputError("one column; expected a name and a word", path=path, line=number)
        if words.setdefault(name, word) != word:
            raise InputError(f"{name!r} is {words[name]!r} above; expected one word", path=path, line=number)
    return words


def _lines(path: Path) -> list[tuple[str, str | None]]:
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


def _with_people(found: Embeddings, ids: str | Path | None) -> Embeddings:
    if ids is None:
        return found
    path = Path(ids)
    if isinstance(found.vectors, np.memmap) and (found.ids == np.arange(len(found)).astype(np.str_)).all():
        return _named(found.vectors, path)
    known = dict(_lines(path))
    missing = next((str(one) for one in found.ids if known.get(str(one)) is None), None)
    if missing is not None:
        raise InputError(f"{missing!r} is not in {path} with a speaker; expected every utterance")
    return Embeddings(found.vectors, found.ids, np.array([known[str(one)] for one in found.ids]), found.attributes)


def _read_parquet(source: Source) -> Embeddings:
    import polars as pl

    try:
        frame = pl.read_parquet(source.open())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read as Parquet: {str(error).splitlines()[0]}", path=source.name) from None
    columns = {name: name for name in frame.columns}
    at = _pop(columns, _VECTORS)
    if at is None:
        raise InputError(f"no column embedding (found: {', '.join(frame.columns)}); expected one", path=source.name)
    lists = frame[at]
    if lists.dtype.base_type() not in (pl.List, pl.Array):
        raise InputError(f"column {at} is of type {lists.dtype}; expected lists of numbers", path=source.name)
    if lists.dtype.base_type() == pl.Array:
        lists = lists.arr.to_list()
    lengths = lists.list.len()
    odd = (lengths != lengths[0]).fill_null(True).arg_true()
    if len(odd):
        row = int(odd[0])
        what = "null" if lengths[row] is None else f"{lengths[row]} entries"
        raise InputError(f"row {row}: {what}, the first row has {lengths[0]}; expected the same", path=source.name)
    flat = lists.explode()
    if not flat.dtype.is_numeric():
        raise InputError(f"column {at} is of type {lists.dtype}; expected lists of numbers", path=source.name)
    missing = flat.is_null().arg_true()
    if len(missing):
        raise InputError(f"row {int(missing[0]) // lengths[0]}: a null entry; expected numbers", path=source.name)
    vectors = flat.to_numpy().reshape(len(frame), -1)
    ids, speakers = _pop(columns, _IDS), _pop(columns, _SPEAKERS)
    for name in (ids, speakers):
        empty = [] if name is None else frame[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"row {empty[0]}: no {name}; expected one", path=source.name)
    words = {name: frame[name].fill_null("").to_numpy() for name in columns if frame[name].dtype == pl.String}
    text: dict[Any, Any] = {
        name: None if name is None else frame[name].cast(pl.String).to_numpy() for name in (ids, speakers)
    }
    return Embeddings(vectors, text[ids], text[speakers], words)


def _read_pt(source: Source) -> Embeddings:
    """Tensors only: the file is refused if anything else would have to be run to load it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", f"{source.name}: reading tensors") from None
    try:
        loaded = torch.load(source.open(), map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"cannot be read as tensors: {str(error).splitlines()[0]}", path=source.name) from None
    index: Mapping[Any, Any] | None = None
    speakers: Mapping[Any, Any] = {}
    if isinstance(loaded, Mapping):
        index, speakers = loaded.get("id2idx"), loaded.get("idx2spk") or {}
        loaded = next((loaded[name] for name in _VECTORS if name in loaded), None)
    if not isinstance(loaded, torch.Tensor):
        raise InputError("no tensor of vectors; expected one, or a mapping with vectors", path=source.name)
    if index is None:
        index = _index_beside(source)
    vectors = loaded.float().numpy() if loaded.dtype == torch.bfloat16 else loaded.numpy()
    if index is None:
        return Embeddings(vectors)
    names = _by_place(index, len(vectors), source.name)
    known = speakers if isinstance(speakers, Mapping) else {}
    people = [known.get(place, known.get(str(place))) for place in range(len(names))]
    if any(one is None for one in people):
        people = names  # one vector per speaker: the identifier is the speaker
    return Embeddings(vectors, np.array(names), np.array([str(one) for one in people]))


def _index_beside(source: Source) -> Mapping[Any, Any] | None:
    beside = source.path.parent / "id2idx"
    for path in (beside, beside.with_suffix(".json")):
        if source.held is None and path.is_file():
            data = path.read_bytes()
            try:
                found = json.loads(data)
            except ValueError:
                try:
                    import torch

                    found = torch.load(path, weights_only=True)
                except Exception as error:
                    raise InputError(f"cannot be read as a mapping: {str(error).splitlines()[0]}", path=path) from None
            if not isinstance(found, dict):
                raise InputError("expected a mapping of identifiers to rows", path=path)
            return found
    return None


def _by_place(index: Mapping[Any, Any], count: int, name: str) -> list[str]:
    names: list[str | None] = [None] * count
    for one, place in index.items():
        if not 0 <= int(place) < count:
            raise InputError(f"id2idx: {one!r} names row {place}; expected 0 to {count - 1}", path=name)
        if names[int(place)] is not None:
            raise InputError(f"id2idx: row {place} is {names[int(place)]!r} and {one!r}; expected one", path=name)
        names[int(place)] = str(one)
    missing = [place for place, one in enumerate(names) if one is None]
    if missing:
        raise InputError(f"id2idx names no identifier for row {missing[0]}; expected one for each", path=name)
    return [str(one) for one in names]
