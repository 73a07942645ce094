"""A damage: a change of the files whose name matches, and how to change lines, arrays and JSON."""

import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Change = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Damage:
    """A change of files whose whole name matches, read by certain commands, any where none is named."""

    names: str
    change: Change
    commands: tuple[str, ...] = ()
    signed: bool = False  # whether the digest of a model beside it is made to fit


def changed_lines(change: Callable[[list[list[str]], random.Random], object], separator: str = " ") -> Change:
    """A change of the cells of all lines."""

    def changed(data: bytes, rng: random.Random) -> bytes:
        rows = [line.split(separator) for line in data.decode().splitlines()]
        change(rows, rng)
        return "".join(separator.join(row) + "\n" for row in rows).encode()

    return changed


def changed_arrays(change: Callable[[dict[str, Any], random.Random], object]) -> Change:
    """A change of the arrays of an npz file."""

    def changed(data: bytes, rng: random.Random) -> bytes:
        with np.load(io.BytesIO(data), allow_pickle=False) as loaded:
            arrays = {name: np.array(loaded[name]) for name in loaded.files}
        change(arrays, rng)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    return changed


def changed_document(change: Callable[[dict[str, Any], random.Random], object]) -> Change:
    """A change of a JSON object."""

    def changed(data: bytes, rng: random.Random) -> bytes:
        document = json.loads(data)
        change(document, rng)
        return json.dumps(document).encode()

    return changed


def not_finite(name: str) -> Callable[[dict[str, Any], random.Random], None]:
    """An entry of an array that is no number."""

    def change(arrays: dict[str, Any], rng: random.Random) -> None:
        arrays[name].flat[rng.randrange(arrays[name].size)] = rng.choice((np.nan, np.inf, -np.inf))

    return change
