"""Damage: to bytes, to lines and cells of text, to values of JSON, to arrays of NumPy and safetensors."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

NASTY = ["", " ", "nan", "inf", "-inf", "1e999", "1e120", "-1e300", "0x10", "1_000", "\u00b2", "\u0663", "None", "null"]
NASTY += [
    "target",
    "nontarget",
    "=1+1",
    "../..",
    "\x00",
    "a b",
    '"',
    "\u202etrop",
    "9" * 40,
    "x" * 300,
    "-0.0",
    "1e-310",
]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**6,
    1e20,
    -1e40,
    1e308,
    -1e308,
    10**400,
    "",
    "inf",
    "-inf",
    "nan",
    "x",
    [],
    {},
]
VALUES += [[1, 2], [[]], {"a": 1}, "9" * 50, [None], 2**63, -(2**31), 1e-320, ["x"], {"x": []}, float("nan")]


def damaged(data: bytes, name: str, rng: random.Random) -> bytes:
    """The content of a file after one to three damages that suit its kind, or any kind."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kinds = [_bytes]
        for ends, how in STRUCTURED.items():
            if name.endswith(ends):
                kinds = [_bytes, how, how, how]
        if kinds == [_bytes] and _is_text(data):
            kinds = [_bytes, _text, _text, _text]
        how = rng.choice(kinds)
        try:
            data = how(data, rng)
        except KeyboardInterrupt:
            raise
        except BaseException:  # what was damaged before is no longer of that kind; polars panics with no Exception
            data = _bytes(data, rng)
    return data


def _is_text(data: bytes) -> bool:
    return b"\x00" not in data[:1000]


def _bytes(data: bytes, rng: random.Random) -> bytes:
    """Cut, flipped, doubled, exchanged bytes."""
    size = len(data)
    if size == 0:
        return rng.randbytes(5)
    at, width = rng.randrange(size), min(size, 1 << rng.randrange(0, 8))
    kind = rng.randrange(7)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[at + width :]
    if kind == 3:
        return data[:at] + rng.randbytes(width) + data[at + width :]
    if kind == 4:
        return data[:at] + data[at : at + width] * 2 + data[at + width :]
    if kind == 5:
        return (
            data[:at]
            + rng.choice((b"\x00", b"\xff" * 4, b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\xc2\xb2"))
            + data[at:]
        )
    return b"" if rng.random() < 0.1 else data + data[:width]


def _text(data: bytes, rng: random.Random) -> bytes:
    """Lines and cells that are gone, doubled, moved, or nasty."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(8)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(rng.randrange(len(lines)), lines[at])
    elif kind == 2:
        rng.shuffle(lines)
    elif kind == 3:
        lines[at] = lines[at].replace(b" ", rng.choice((b"\t", b",", b"  ", b"", b"\xc2\xa0")))
    elif kind == 4:
        lines = [line + b"\r" for line in lines]
    else:
        cells = lines[at].split(b" ")
        place = rng.randrange(len(cells))
        if kind == 5 and len(cells) > 1:
            cells[place], cells[0] = cells[0], cells[place]
        elif kind == 6:
            del cells[place]
        else:
            cells[place] = rng.choice(NASTY).encode()
        lines[at] = b" ".join(cells)
    return b"\n".join(lines)


def _place(document: Any, rng: random.Random) -> tuple[Any, Any]:
    """A value somewhere in a document, near its top as often as deep within: what holds it, and its key there."""
    holder, key, value = None, None, document
    while isinstance(value, (dict, list)) and value and (holder is None or rng.random() < 0.85):
        holder, key = value, rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        value = holder[key]
    return holder, key


def _json(data: bytes, rng: random.Random) -> bytes:
    """Values of another type or size, fields that are gone or new, lists within lists."""
    document = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        holder, key = _place(document, rng)
        kind = rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice(("new", "", "value", "rows", "schema", *NASTY))] = _odd(rng)
        elif kind == 2 and isinstance(holder, list):
            holder.append(_odd(rng))
        elif kind == 3 and rng.random() < 0.2:
            return _deep(data, rng)
        else:
            holder[key] = _odd(rng)
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _json_lines(data: bytes, rng: random.Random) -> bytes:
    """The same in one of many lines, or damage to lines."""
    if rng.random() < 0.3:
        return _text(data, rng)
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    lines[at] = _json(lines[at], rng) + b"\n"
    return b"".join(lines)


def _odd(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(VALUES))  # of its own: what is put in one place is damaged further there


def _deep(data: bytes, rng: random.Random) -> bytes:
    """One list within another, more of them than any reader can follow."""
    depth = rng.choice((10, 900, 100_000))
    return b'{"rows": ' + b"[" * depth + b"]" * depth + b", " + data.lstrip()[1:]


def _array(array: Any, rng: random.Random) -> Any:
    """An array with odd entries, of another shape or type."""
    array = np.array(array)
    kind = rng.randrange(9)
    if kind == 0 and array.dtype.kind == "f" and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e30, 0.0, 1e-40))
    elif kind == 1 and array.ndim:
        array = array[: rng.randrange(len(array) + 1)]
    elif kind == 2:
        array = array.reshape(-1)
    elif kind == 3:
        array = array[None]
    elif kind == 4:
        array = np.array(rng.choice((0, 1.5, "x", True)))
    elif kind == 5 and array.dtype.kind in "fiu":
        types = ("f2", ">f4", "f8", "i1", "u8", "c8", "?", "U3", "S2", "M8[s]", "V3")
        array = array.astype(rng.choice(types))
    elif kind == 6 and array.ndim == 2:
        array = array.T
    elif kind == 7:
        array = np.zeros_like(array)
    elif array.dtype.kind in "US" and array.size:
        array = array.astype("U300")
        array.flat[rng.randrange(array.size)] = rng.choice(NASTY).replace("\x00", "")
    elif array.dtype.kind == "f" and array.size:
        array = array * rng.choice((1e20, 1e30, 0.0, -1.0, 1e-30))
    return array


@np.errstate(all="ignore")
def _npz(data: bytes, rng: random.Random) -> bytes:
    with np.load(io.BytesIO(data), allow_pickle=False) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    name = rng.choice(list(arrays))
    kind = rng.randrange(8)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[rng.choice(("x", "ids", "mated", "scores", "vectors", "new"))] = arrays.pop(name)
    elif kind == 2:
        objects = io.BytesIO()
        np.savez(objects, **{**arrays, name: np.array([{}, None], dtype=object)})
        return objects.getvalue()
    elif kind == 3:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            name = rng.choice(("../x.npy", "vectors.npy", "a.txt", "vectors"))
            archive.writestr(zipfile.ZipInfo(name), rng.randbytes(20))  # without the time of day
        return buffer.getvalue()
    else:
        arrays[name] = _array(arrays[name], rng)
    buffer = io.BytesIO()
    (np.savez if rng.random() < 0.8 else np.savez_compressed)(buffer, **arrays)
    return buffer.getvalue()


@np.errstate(all="ignore")
def _npy(data: bytes, rng: random.Random) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, _array(np.load(io.BytesIO(data), allow_pickle=False), rng))
    return buffer.getvalue()


def _pt(data: bytes, rng: random.Random) -> bytes:
    import torch

    loaded = torch.load(io.BytesIO(data), weights_only=True)
    kind = rng.randrange(9)
    if isinstance(loaded, dict):
        name = rng.choice(list(loaded))
        if kind < 2:
            loaded.pop(name)
        elif kind < 5:
            loaded[name] = rng.choice(
                (None, 3, "x", [1], {"a": "b"}, {"a": 1.5}, torch.zeros(2, 2, 2), torch.tensor(1.0))
            )
        elif isinstance(loaded[name], dict) and loaded[name]:
            key = rng.choice(list(loaded[name]))
            loaded[name][rng.choice((key, "new", 7))] = rng.choice((None, -1, 10**9, 1.5, "x", [0], 0, 2**70))
        else:
            loaded["vectors"] = _tensor(torch, loaded.get("vectors", torch.eye(3)), rng)
    else:
        loaded = _tensor(torch, loaded, rng)
    buffer = io.BytesIO()
    torch.save(loaded, buffer)
    return buffer.getvalue()


def _tensor(torch: Any, tensor: Any, rng: random.Random) -> Any:
    if not isinstance(tensor, torch.Tensor):
        return torch.eye(3)
    kinds = (
        lambda: tensor.to(torch.complex64),
        lambda: tensor.to(torch.bfloat16),
        lambda: tensor.to(torch.float16),
        lambda: tensor.to(torch.bool),
        lambda: tensor.to_sparse(),
        lambda: torch.nn.Parameter(tensor.float()),
        lambda: tensor.T,
        lambda: tensor.flatten(),
        lambda: tensor[:0],
        lambda: torch.full_like(tensor, float("nan")) if tensor.is_floating_point() else tensor,
        lambda: tensor.to("meta"),
        lambda: torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8),
        lambda: tensor.to(torch.float8_e4m3fn),
        lambda: [tensor],
        lambda: torch.conj(tensor.to(torch.complex64)),
    )
    return rng.choice(kinds)()


def _ark(data: bytes, rng: random.Random) -> bytes:
    if not _is_text(data):
        at = data.find(b"\x00B")
        return (
            data[: at + 2] + rng.randbytes(rng.randrange(9)) + data[at + 9 :]
            if rng.random() < 0.4
            else _bytes(data, rng)
        )
    return _text(data, rng)


def _safetensors(data: bytes, rng: random.Random) -> bytes:
    """Header and arrays."""
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    if rng.random() < 0.5:
        import safetensors.numpy as tensors

        arrays = dict(sorted(tensors.load(data).items()))
        name = rng.choice(list(arrays))
        with np.errstate(all="ignore"):
            changed = _array(arrays[name], rng)
        arrays[name] = np.ascontiguousarray(changed if changed.dtype.kind in "fiub" else arrays[name] * np.nan)
        if rng.random() < 0.1:
            arrays.pop(name)
        return tensors.save(arrays)
    text = _json(json.dumps(header).encode(), rng)
    length = len(text) if rng.random() < 0.8 else rng.choice((0, 2**40, 2**63, len(text) - 1, 1))
    return length.to_bytes(8, "little") + text + body


def _parquet(data: bytes, rng: random.Random) -> bytes:
    import polars as pl

    frame = pl.read_parquet(io.BytesIO(data))
    name = rng.choice(frame.columns)
    kind = rng.randrange(8)
    if kind == 0:
        frame = frame.drop(name)
    elif kind == 1:
        frame = frame.rename({name: rng.choice(("x", "new", "", "speakers"))})
    elif kind == 2:
        frame = frame.with_columns(pl.lit(None).alias(name))
    elif kind == 3:
        frame = frame.with_columns(pl.lit(rng.choice((1, 1.5, "x", True, b"x"))).alias(name))
    elif kind == 4:
        frame = frame.head(rng.randrange(3))
    elif kind == 5:
        frame = frame.with_columns(pl.Series(name, [[1.0]] * len(frame)))
    elif kind == 6:
        frame = frame.with_columns(pl.Series(name, [[[1.0], None]] * len(frame)))
    else:
        frame = frame.sample(fraction=1.0, shuffle=True, seed=rng.randrange(99))
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


STRUCTURED: dict[str, Callable[[bytes, random.Random], bytes]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".npz": _npz,
    ".npy": _npy,
    ".pt": _pt,
    ".ark": _ark,
    ".safetensors": _safetensors,
    ".parquet": _parquet,
}
