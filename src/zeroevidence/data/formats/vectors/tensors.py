"""Tensors of torch, as the VoicePrivacy Challenges write ``speaker_vectors.pt``; nothing that runs code is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.source import InputFile
from zeroevidence.data.formats.vectors.names import VECTORS
from zeroevidence.data.formats.vectors.registry import VECTOR_FORMATS, VectorFormat
from zeroevidence.errors import InputError, MissingExtra


def read_tensors(file: InputFile) -> Embeddings:
    """Tensors only: the file is refused if anything else would have to be run to load it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", f"{file.name}: reading tensors") from None
    try:
        loaded = torch.load(file.open(), map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"cannot be read as tensors: {str(error).splitlines()[0]}", path=file.name) from None
    index: Mapping[Any, Any] | None = None
    speakers: Mapping[Any, Any] = {}
    if isinstance(loaded, Mapping):
        index, speakers = loaded.get("id2idx"), loaded.get("idx2spk") or {}
        loaded = next((loaded[name] for name in VECTORS if name in loaded), None)
    if not isinstance(loaded, torch.Tensor):
        raise InputError("no tensor of vectors; expected one, or a mapping with vectors", path=file.name)
    if index is None:
        index = _index_beside(file)
    loaded = loaded.detach()
    vectors = loaded.float().numpy() if loaded.dtype == torch.bfloat16 else loaded.numpy()
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


VECTOR_FORMATS.add(
    VectorFormat(
        name="pt",
        words="torch tensor, or a mapping with `vectors`, joined by `id2idx` in it or beside it, as in VoicePrivacy",
        read=read_tensors,
        suffix=".pt",
        place=10,
    )
)
