"""Tensors of torch, as the VoicePrivacy Challenges write ``speaker_vectors.pt``; nothing that runs code is loaded."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.size_limits import check_archive
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.vectors.column_names import VECTORS
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat
from zeroevidence.data.typed import read_json
from zeroevidence.errors import InputError, MissingExtra


def read_tensors(file: InputFile) -> Embeddings:
    """Tensors only: the file is refused if anything else would have to be run to load it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", f"{file.name}: reading tensors") from None
    with reading_file(file.name, "tensors"):
        with file.stream() as stream:
            if zipfile.is_zipfile(stream):
                stream.seek(0)
                check_archive(stream, file.name)
        loaded = torch.load(file.open(), map_location="cpu", weights_only=True)
    index: Mapping[Any, Any] | None = None
    speakers: Mapping[Any, Any] = {}
    if isinstance(loaded, Mapping):
        index, speakers = loaded.get("id2idx"), loaded.get("idx2spk") or {}
        loaded = next((loaded[name] for name in VECTORS if name in loaded), None)
    if not isinstance(loaded, torch.Tensor):
        raise InputError("no tensor of vectors; expected one, or a mapping with vectors", path=file.name)
    if index is None:
        index = _index_beside(file)
    if not isinstance(index, (Mapping, type(None))):
        raise InputError("id2idx: expected a mapping of identifiers to rows", path=file.name)
    if loaded.ndim != 2 or not loaded.is_floating_point() or loaded.layout != torch.strided or loaded.is_meta:
        what = f"{str(loaded.dtype).removeprefix('torch.')} of shape {tuple(loaded.shape)}"
        raise InputError(f"a tensor of {what}; expected one vector of floats per row", path=file.name)
    loaded = loaded.detach()
    vectors = (loaded if loaded.dtype in (torch.float16, torch.float32, torch.float64) else loaded.float()).numpy()
    if index is None:
        return Embeddings(vectors)
    names = _by_place(index, len(vectors), file.name)
    known = speakers if isinstance(speakers, Mapping) else {}
    people = [known.get(place, known.get(str(place))) for place in range(len(names))]
    if any(one is None for one in people):
        people = names  # one vector per speaker: the identifier is the speaker
    return Embeddings(vectors, np.array(names), np.array([str(one) for one in people]))


def _index_beside(file: InputFile) -> Mapping[Any, Any] | None:
    beside = file.path.parent / "id2idx"
    for path in (beside, beside.with_suffix(".json")):
        if file.held is None and path.is_file():
            with reading_file(path, "a mapping"):
                found = _mapping(path)
            if not isinstance(found, dict):
                raise InputError("expected a mapping of identifiers to rows", path=path)
            return found
    return None


def _mapping(path: Path) -> Any:
    """What a file of JSON holds, or one that torch wrote."""
    data = path.read_bytes()
    if data.lstrip().startswith(b"{"):
        return read_json(data.decode(), path)
    import torch

    if zipfile.is_zipfile(BytesIO(data)):
        check_archive(BytesIO(data), path)
    return torch.load(BytesIO(data), weights_only=True)


def _by_place(index: Mapping[Any, Any], count: int, name: str) -> list[str]:
    names: list[str | None] = [None] * count
    for one, place in index.items():
        if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < count:
            raise InputError(f"id2idx: {one!r} names row {place!r}; expected 0 to {count - 1}", path=name)
        if names[place] is not None:
            raise InputError(f"id2idx: row {place} is {names[place]!r} and {one!r}; expected one", path=name)
        names[place] = str(one)
    missing = [place for place, one in enumerate(names) if one is None]
    if missing:
        raise InputError(f"id2idx names no identifier for row {missing[0]}; expected one for each", path=name)
    return [str(one) for one in names]


VECTOR_FORMATS.add(
    VectorFormat(
        name="pt",
        words="torch tensor, or a mapping with `vectors`, joined by `id2idx` in it or beside it, as in VoicePrivacy",
        read=read_tensors,
        suffix=".pt",
        place=10,
    )
)
