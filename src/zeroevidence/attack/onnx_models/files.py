"""Checks of ONNX files before they are loaded: digest, size, and other files that they refer to.

ONNX can store large weights in other files and name them by a path. Such a path may lead anywhere, so a model from
somebody else could read any file of the machine; one that leads out of the model's folder is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from zeroevidence.data.files.errors import is_file
from zeroevidence.errors import InputError

# Fields of ONNX messages by number that hold messages in which a tensor may lie.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "external"},
}
_KEY, _VALUE = 1, 2
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5  # how protobuf marks what follows


def checked_bytes(file: Path, *, sha256: str | None = None, size: int | None = None) -> bytes:
    """Return the content of a model file, if its size and its digest are those of its card.

    Raises
    ------
    InputError
        Naming the file, when it cannot be read or is another; one of another size is not read.
    """
    try:
        actual = file.stat().st_size
        if size is not None and actual != size:
            raise InputError(f"has {actual} bytes; its card says {size}", path=file)
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=file) from None
    digest = hashlib.sha256(data).hexdigest()
    if sha256 is not None and digest != sha256:
        raise InputError(f"its sha256 is {digest}; its card says {sha256}", path=file)
    return data


def external_files(data: bytes, path: Path) -> tuple[Path, ...]:
    """Return the files besides the model itself that hold its weights, each once.

    Parameters
    ----------
    data
        Content of the model file.
    path
        Its path; names of other files are relative to its folder.

    Raises
    ------
    InputError
        Naming the model, when it is not ONNX, or when a file is missing or lies outside the model's folder, also by
        a link.

    Examples
    --------
    >>> from zeroevidence.attack.encoders.inventory import find_encoder
    >>> file = find_encoder("campplus").card.file
    >>> external_files(file.read_bytes(), file)
    ()
    """
    folder = path.absolute().parent.resolve()
    try:
        locations = sorted(set(_locations(data)))
        places = {name: (folder / name).resolve() for name in locations}
    except ValueError as error:
        raise InputError(f"cannot be loaded as ONNX: {error}", path=path) from None
    for name, place in places.items():
        if not place.is_relative_to(folder):
            raise InputError(f"its weights are in {name!r}, outside its folder; expected them beside it", path=path)
        if not is_file(place):
            raise InputError(f"its weights are in {name!r}; no such file beside it", path=path)
    return tuple(places.values())


def _locations(data: bytes) -> Iterator[str]:
    """Yield the paths that tensors name, anywhere in a model."""
    waiting = [("model", memoryview(data))]
    while waiting:
        kind, message = waiting.pop()
        if kind == "external":
            fields = list(_fields(message))
            if any(bytes(value) == b"location" for number, value in fields if number == _KEY):
                yield from (bytes(value).decode() for number, value in fields if number == _VALUE)
            continue
        inside = _INSIDE[kind]
        waiting += [(inside[number], value) for number, value in _fields(message) if number in inside]


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield numbers and contents of the fields of a protobuf message that may be messages or text themselves."""
    at, end = 0, len(message)
    while at < end:
        mark, at = _number(message, at)
        kind = mark & 7
        if kind == _VARINT:
            _, at = _number(message, at)
        elif kind in (_EIGHT, _FOUR):
            at += 8 if kind == _EIGHT else 4
        elif kind == _LENGTH:
            size, at = _number(message, at)
            yield mark >> 3, message[at : at + size]
            at += size
        else:
            raise ValueError("not a protobuf message")
        if at > end:
            raise ValueError("cut off, or not a protobuf message")


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """Return a number of seven bits per byte, and the place behind it."""
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    raise ValueError("cut off, or not a protobuf message")
