"""Damage: to bytes, to lines and cells of text, to values of JSON, to arrays of NumPy and safetensors."""

import copy
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

NASTY = ["nan", "inf", "-inf", "1e999", "1e120", "-1e300", "0x10", "1_000", "-0.0", "1e-310", "None", "null"]
NASTY += ["target", "nontarget", "=1+1", "../..", "", " ", "\u00b2", "\u0663", "\x00", "a b", '"', "\u202etrop"]
NASTY += ["9" * 40, "x" * 300]
NUMBERS = [0, -1, 1.5, 10**6, 1e20, -1e40, 1e308, -1e308, 10**400, 2**63, -(2**31), 1e-320, float("nan")]
TEXTS = ["", "inf", "-inf", "nan", "x", "9" * 50]
VALUES: list[Any] = [*NUMBERS, *TEXTS, None, True, False, [], {}, [1, 2], [[]], {"a": 1}, [None], ["x"], {"x": []}]


def damaged(data: bytes, name: str, rng: random.Random) -> bytes:
    """The content of a file after one to three damages that suit its kind, or any kind."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        suiting = next((change for ending, change in STRUCTURED.items() if name.endswith(ending)), None)
        if suiting is None:
            suiting = _text if _is_text(data) else _bytes
        try:
            data = rng.choice((_bytes, suiting, suiting, suiting))(data, rng)
        except KeyboardInterrupt:
            raise
        except BaseException:  # what was damaged before is no longer of that kind; polars panics with no Exception
            data = _bytes(data, rng)
    return data


def _is_text(data: bytes) -> bool:
    return b"\x00" not in data[:1000]


def _bytes(data: bytes, rng: random.Random) -> bytes:
    """Cut, flipped, doubled, exchanged bytes."""
    if not data:
        return rng.randbytes(5)
    at, width = rng.randrange(len(data)), min(len(data), 1 << rng.randrange(0, 8))
    before, part, after = data[:at], data[at : at + width], data[at + width :]
    changes = (
        lambda: before,
        lambda: before + bytes([part[0] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
        lambda: before + after,
        lambda: before + rng.randbytes(width) + after,
        lambda: before + part * 2 + after,
        lambda: before + rng.choice((b"\x00", b"\xff" * 4, b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n")) + part + after,
        lambda: b"" if rng.random() < 0.1 else data + data[:width],
    )
    return rng.choice(changes)()


def _text(data: bytes, rng: random.Random) -> bytes:
    """Lines and cells that are gone, doubled, moved, or nasty."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    cells = lines[at].split(b" ")
    place = rng.randrange(len(cells))
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
        if kind == 5:
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
            return nested(data, rng)
        else:
            holder[key] = _odd(rng)
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _odd(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(VALUES))  # of its own: what is put in one place is damaged further there


def nested(data: bytes, rng: random.Random) -> bytes:
    """One list within another, more of them than any reader can follow."""
    depth = rng.choice((100_000, 300_000))
    return b'{"rows": ' + b"[" * depth + b"]" * depth + b", " + data.lstrip()[1:]


def _array(array: Any, rng: random.Random) -> Any:
    """An array with odd entries, of another shape or type."""
    array = np.array(array)
    kind = rng.randrange(9)
    if kind == 0 and array.dtype.kind == "f" and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e30, 0.0, 1e-40))
        return array
    if kind == 1 and array.dtype.kind in "US" and array.size:
        array = array.astype("U300")
        array.flat[rng.randrange(array.size)] = rng.choice(NASTY).replace("\x00", "")
        return array
    numeric = array.dtype.kind in "fiu"
    changes = (
        lambda: array[: rng.randrange(len(array) + 1)] if array.ndim else array,
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: np.array(rng.choice((0, 1.5, "x", True))),
        lambda: array.astype(rng.choice(("f2", ">f4", "i1", "u8", "c8", "?", "U3", "M8[s]"))) if numeric else array.T,
        lambda: np.zeros_like(array),
        lambda: array * rng.choice((1e20, 1e30, 0.0, -1.0, 1e-30)) if array.dtype.kind == "f" else array[:0],
    )
    return rng.choice(changes)()


def _npz(data: bytes, rng: random.Random) -> bytes:
    with np.load(io.BytesIO(data), allow_pickle=False) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    name = rng.choice(list(arrays))
    kind = rng.randrange(8)
    buffer = io.BytesIO()
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[rng.choice(("x", "ids", "mated", "scores", "vectors", "new"))] = arrays.pop(name)
    elif kind == 2:
        arrays[name] = np.array([{}, None], dtype=object)
    elif kind == 3:
        with zipfile.ZipFile(buffer, "w") as archive:
            other = rng.choice(("../x.npy", "vectors.npy", "a.txt", "vectors"))
            archive.writestr(zipfile.ZipInfo(other), rng.randbytes(20))  # without the time of day
        return buffer.getvalue()
    else:
        with np.errstate(all="ignore"):
            arrays[name] = _array(arrays[name], rng)
    (np.savez if rng.random() < 0.8 else np.savez_compressed)(buffer, **arrays)
    return buffer.getvalue()


@np.errstate(all="ignore")
def _npy(data: bytes, rng: random.Random) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, _array(np.load(io.BytesIO(data), allow_pickle=False), rng))
    return buffer.getvalue()


def _pt(data: bytes, rng: random.Random) -> bytes:
    """Tensors of other types and shapes, and other values beside them."""
    import torch

    loaded = torch.load(io.BytesIO(data), weights_only=True)
    name = rng.choice(list(loaded))
    kind = rng.randrange(4)
    if kind == 0:
        del loaded[name]
    elif kind == 1:
        loaded[name] = rng.choice((None, 3, "x", [1], {"a": "b"}, {"a": 1.5}, torch.zeros(2, 2, 2), torch.tensor(1.0)))
    elif isinstance(loaded[name], dict):
        key = rng.choice((*loaded[name], "new", 7))
        loaded[name][key] = rng.choice((None, -1, 10**9, 1.5, "x", [0], 0, 2**70))
    else:
        tensor = loaded[name]
        types = (torch.complex64, torch.bfloat16, torch.float16, torch.bool, torch.float8_e4m3fn)
        changes = (
            lambda: tensor.to(rng.choice(types)),
            lambda: tensor.to_sparse(),
            lambda: torch.nn.Parameter(tensor),
            lambda: rng.choice((tensor.T, tensor.flatten(), tensor[:0], [tensor])),
            lambda: torch.full_like(tensor, float("nan")),
            lambda: tensor.to("meta"),
            lambda: torch.quantize_per_tensor(tensor, 0.1, 0, torch.qint8),
        )
        loaded[name] = rng.choice(changes)()
    buffer = io.BytesIO()
    torch.save(loaded, buffer)
    return buffer.getvalue()


def _ark(data: bytes, rng: random.Random) -> bytes:
    if _is_text(data):
        return _text(data, rng)
    at = data.find(b"\x00B")  # the header of a vector
    return data[: at + 2] + rng.randbytes(rng.randrange(9)) + data[at + 9 :]


def _safetensors(data: bytes, rng: random.Random) -> bytes:
    """Header and arrays."""
    size = int.from_bytes(data[:8], "little")
    if rng.random() < 0.5:
        import safetensors.numpy as tensors

        arrays = dict(sorted(tensors.load(data).items()))
        name = rng.choice(list(arrays))
        with np.errstate(all="ignore"):
            changed = _array(arrays[name], rng)
        arrays[name] = np.ascontiguousarray(changed if changed.dtype.kind in "fiub" else arrays[name] * np.nan)
        return tensors.save(arrays)
    text = _json(data[8 : 8 + size], rng)
    length = len(text) if rng.random() < 0.8 else rng.choice((0, 2**40, 2**63, len(text) - 1, 1))
    return length.to_bytes(8, "little") + text + data[8 + size :]


def _parquet(data: bytes, rng: random.Random) -> bytes:
    import polars as pl

    frame = pl.read_parquet(io.BytesIO(data))
    name = rng.choice(frame.columns)
    value = rng.choice((None, 1, 1.5, "x", True, b"x"))
    changes = (
        lambda: frame.drop(name),
        lambda: frame.rename({name: rng.choice(("x", "new", "", "speakers"))}),
        lambda: frame.with_columns(pl.lit(value).alias(name)),
        lambda: frame.head(rng.randrange(3)),
        lambda: frame.with_columns(pl.Series(name, [rng.choice(([1.0], [[1.0], None]))] * len(frame))),
        lambda: frame.sample(fraction=1.0, shuffle=True, seed=rng.randrange(99)),
    )
    buffer = io.BytesIO()
    rng.choice(changes)().write_parquet(buffer)
    return buffer.getvalue()


STRUCTURED: dict[str, Callable[[bytes, random.Random], bytes]] = {
    ".json": _json,
    ".npz": _npz,
    ".npy": _npy,
    ".pt": _pt,
    ".ark": _ark,
    ".safetensors": _safetensors,
    ".parquet": _parquet,
}
