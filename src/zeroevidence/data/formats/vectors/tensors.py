"""Tensors of torch, such as ``speaker_vectors.pt`` of the VoicePrivacy Challenges; nothing that runs code is loaded."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.json_values import read_json
from zeroevidence.data.files.size_limits import check_archive
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.vectors.column_names import VECTORS
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat
from zeroevidence.errors import InputError, MissingExtra


def read_tensors(file: InputFile) -> Embeddings:
    """Return the vectors of a file of tensors; a file that would run code is refused."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", f"{file.name}: reading tensors") from None
    with reading_file(file.name, "tensors"), file.stream() as stream:
        if zipfile.is_zipfile(stream):
            stream.seek(0)
            check_archive(stream, file.name)
        stream.seek(0)
        loaded = torch.load(stream, map_location="cpu", weights_only=True)
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


def _index_beside(file: InputFile) -> Mapping[Any, Any] | None:
    beside = file.path.parent / "id2idx"
    for path in (beside, beside.with_suffix(".json")):
        if file.held is None and path.is_file():
            with reading_file(path, "a mapping"):
                index = _load_mapping(path)
            if not isinstance(index, dict):
                raise InputError("expected a mapping of identifiers to rows", path=path)
            return index
    return None


def _load_mapping(path: Path) -> Any:
    """Return the value of a file of JSON, or of one that torch wrote."""
    data = path.read_bytes()
    if data.lstrip().startswith(b"{"):
        return read_json(data.decode(), path)
    import torch

    if zipfile.is_zipfile(BytesIO(data)):
        check_archive(BytesIO(data), path)
    return torch.load(BytesIO(data), weights_only=True)


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


VECTOR_FORMATS.add(
    VectorFormat(
        name="pt",
        description="torch tensor, or a mapping with `vectors`, joined by `id2idx` in it or beside it, as in "
        "VoicePrivacy",
        read=read_tensors,
        suffix=".pt",
        place=10,
    )
)
