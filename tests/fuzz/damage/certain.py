"""Damage that a command must refuse: one of a kind, done to one file or argument, and to nothing else."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.damage.audits import audit_damages
from tests.fuzz.damage.changes import Change, Damage, changed_arrays, changed_document, changed_lines, not_finite
from tests.fuzz.seeds.target import Files, Target

UNPACKED = 1 << 25  # bytes that a file may become while cases run
_NO_NUMBERS = ("nan", "inf", "-inf", "1e999", "0x10", "1_000", "\u00b2", "\u0663", "None", "1,5", "--1")
_NO_CELLS = tuple(value for value in _NO_NUMBERS if "," not in value)
_NO_LABELS = ("yes", "2", "targets", "Target?", "-1")
_NO_WEIGHTS = ("nan", "inf", "-inf", "1e39", "-1e300", "2e6")


def refused_case(target: Target, rng: random.Random) -> tuple[Target, Files] | None:
    """A command line and files that must be refused, None where no damage of these suits the command."""
    choices: list[Callable[[], tuple[Target, Files]]] = []
    for name in dict.fromkeys(target.damaged):
        for damage in DAMAGES:
            if re.fullmatch(damage.names, name) and (not damage.commands or target.command in damage.commands):
                choices.append(functools.partial(_changed, target, name, damage, rng))
    if target.command == "link":
        choices += [lambda: (_with_arguments(target, "--weight", rng.choice(_NO_WEIGHTS)), dict(target.files))] * 2
    return rng.choice(choices)() if choices else None


def _changed(target: Target, name: str, damage: Damage, rng: random.Random) -> tuple[Target, Files]:
    files = dict(target.files)
    files[name] = damage.change(files[name], rng)
    if damage.signed:
        sign(files, name)
    return target, files


def _with_arguments(target: Target, *arguments: str) -> Target:
    return replace(target, arguments=(*target.arguments, *arguments))


def sign(files: Files, name: str) -> None:
    """Give a damaged model the digest it needs to be looked at at all."""
    card = name.replace(".safetensors", ".json")
    document = json.loads(files[card])
    document["sha256"] = hashlib.sha256(files[name]).hexdigest()
    files[card] = json.dumps(document).encode()


def _cell(column: int, values: tuple[str, ...], first: int = 0) -> Callable[[list[list[str]], random.Random], None]:
    """Another value in a column of some line."""

    def change(rows: list[list[str]], rng: random.Random) -> None:
        rows[rng.randrange(first, len(rows))][column] = rng.choice(values)

    return change


def _twice(rows: list[list[str]], rng: random.Random) -> None:
    rows.insert(rng.randrange(len(rows)), list(rng.choice(rows)))


def _gone(rows: list[list[str]], rng: random.Random) -> None:
    del rows[rng.randrange(len(rows))]


def _new(rows: list[list[str]], rng: random.Random) -> None:
    rows.insert(rng.randrange(len(rows)), ["p0", "nobody", rows[0][2]])


def _longer(rows: list[list[str]], rng: random.Random) -> None:
    rng.choice(rows).append("x")


def _one_class(rows: list[list[str]], rng: random.Random) -> None:
    label = rng.choice(("target", "nontarget"))
    for row in rows:
        row[-1] = label


def _no_rate(rows: list[list[str]], rng: random.Random) -> None:
    """A number of a table as kits print it; a comma would end a cell."""
    numbered = [row for row in rows if row[0].isdigit()]
    rng.choice(numbered)[-1] = rng.choice(_NO_CELLS)


def _byte(separator: bytes) -> Change:
    """A byte that is no text, in a name: of another encoding, or a control character."""

    def change(data: bytes, rng: random.Random) -> bytes:
        lines = data.splitlines(keepends=True)
        at = rng.randrange(1, len(lines))
        name, rest = lines[at].split(separator, 1)
        lines[at] = name + rng.choice((b"\xe9", b"\xff", b"\x00", b"\x1b")) + separator + rest
        return b"".join(lines)

    return change


def _one_line(_: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"0.5 ", b"x", b"a,b,")) * (1 << 19)  # longer than what a reader looks at to begin with


def _packed(data: bytes, _: random.Random) -> bytes:
    packed = gzip.compress(data)
    return packed[: len(packed) // 2]  # cut off: a whole one is read


def _read_array(arrays: dict[str, Any], rng: random.Random) -> str:
    """An array that every command reads: attributes are looked at only where they are asked for."""
    return rng.choice([name for name in arrays if name in ("vectors", "speaker", "utterance")])


def _objects(arrays: dict[str, Any], rng: random.Random) -> None:
    name = _read_array(arrays, rng)
    arrays[name] = np.array([{}] * len(arrays[name]), dtype=object)


def _same_ids(arrays: dict[str, Any], _: random.Random) -> None:
    arrays["utterance"][-1] = arrays["utterance"][0]


def _shorter(arrays: dict[str, Any], rng: random.Random) -> None:
    name = _read_array(arrays, rng)
    arrays[name] = arrays[name][:-1]


def _out_of_range(arrays: dict[str, Any], rng: random.Random) -> None:
    mated = arrays[rng.choice([name for name in arrays if name.startswith("mated")])]  # an archive may hold several
    mated[rng.randrange(len(mated))] = rng.choice((6, 99, -2))


@functools.cache
def _bomb() -> bytes:
    """An archive of some kilobytes whose vectors take more than a file may become."""
    head = io.BytesIO()
    rows = 2 * UNPACKED // 40
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (rows, 5)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(zipfile.ZipInfo("vectors.npy"), head.getvalue() + bytes(40 * rows), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _giant(_data: bytes, _: random.Random) -> bytes:
    return _bomb()


def _row(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    row: dict[str, Any] = rng.choice(document["rows"])
    return row


def _unknown_field(document: dict[str, Any], rng: random.Random) -> None:
    row = _row(document, rng)
    rng.choice((row, row["setup"], next(iter(row["metrics"].values()))))["surprise"] = 1


def _other_schema(document: dict[str, Any], rng: random.Random) -> None:
    document["schema"] = rng.choice(("zeroevidence/evaluation/2", "x", "", None))


def _wrong_value(*values: Any) -> Callable[[dict[str, Any], random.Random], None]:
    def change(document: dict[str, Any], rng: random.Random) -> None:
        metrics = _row(document, rng)["metrics"]
        metrics[rng.choice(list(metrics))]["value"] = rng.choice(values)

    return change


def _nested(data: bytes, rng: random.Random) -> bytes:
    depth = rng.choice((100_000, 300_000))
    return b'{"rows": ' + b"[" * depth + b"]" * depth + b", " + data.lstrip()[1:]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    at = len(data) - 1 - rng.randrange(8)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _not_finite_model(data: bytes, rng: random.Random) -> bytes:
    import safetensors.numpy as tensors

    arrays = {name: np.array(array) for name, array in sorted(tensors.load(data).items())}
    name = rng.choice([name for name, array in arrays.items() if array.dtype.kind == "f" and array.size])
    arrays[name].flat[rng.randrange(arrays[name].size)] = rng.choice((np.nan, np.inf))
    return bytes(tensors.save(arrays))


def _fields(**fields: Any) -> Change:
    """Other values of a card, or of each card of a file."""

    def change(document: dict[str, Any], rng: random.Random) -> None:
        name = rng.choice(list(fields))
        document[name] = fields[name]

    return changed_document(change)


def _as_records(data: bytes, _: random.Random) -> bytes:
    """Scores as JSON lines, which no command takes for scores."""
    cells = [line.split() for line in data.decode().splitlines()]
    return "".join(json.dumps({"enrol": row[0], "score": row[-2]}) + "\n" for row in cells).encode()


def _texts() -> Iterator[Damage]:
    pairs = r"(few\.)?(kaldi|other)\.scores"
    yield Damage(pairs, changed_lines(_cell(2, _NO_NUMBERS)))
    yield from (Damage(pairs, changed_lines(change)) for change in (_twice, _gone, _new, _longer))
    yield Damage(r"(few\.)?kaldi\.key", changed_lines(_cell(2, _NO_LABELS)))
    yield from (Damage(r"(few\.)?kaldi\.key", changed_lines(change)) for change in (_twice, _gone, _one_class))
    yield Damage(r"labelled\.txt", changed_lines(_cell(2, _NO_NUMBERS)))
    yield Damage(r"labelled\.txt", changed_lines(_cell(3, _NO_LABELS)))
    yield Damage(r"labelled\.txt", _byte(b" "))
    yield Damage(r"two\.txt", changed_lines(_cell(0, _NO_NUMBERS)))
    yield Damage(r"table\.csv", changed_lines(_cell(2, _NO_CELLS, 1), ","))
    yield Damage(r"table\.csv", _byte(b","))
    yield Damage(r"mated\.txt", changed_lines(_cell(0, _NO_NUMBERS, 1)))
    yield Damage(r"named\.csv", changed_lines(_cell(0, _NO_CELLS, 1), ","))
    yield Damage(r"named\.csv", changed_lines(_cell(1, _NO_LABELS, 1), ","))
    yield Damage(r"people|sessions", changed_lines(_gone))
    yield Damage(r"sessions", changed_lines(_longer))
    yield Damage(r"labelled\.txt|two\.txt", _as_records)
    yield Damage(r"ranks/.*|kit\.txt", changed_lines(_no_rate))
    for change in (_one_line, _packed):
        yield Damage(r"kaldi\.scores|labelled\.txt|two\.txt|table\.csv", change)


def _binaries() -> Iterator[Damage]:
    for change in (not_finite("vectors"), _objects, _shorter):
        yield Damage(r"[ET]\.npz|voices\.npz|bare\.npz", changed_arrays(change), ("link", "protect"))
    yield Damage(r"[ET]\.npz", changed_arrays(_same_ids), ("link",))
    yield Damage(r"[ET]\.npz|voices\.npz", _giant)
    yield Damage(r"matrix\.npz", changed_arrays(not_finite("scores")))
    yield Damage(r"matrix\.npz|.*/scores\.npz", changed_arrays(_out_of_range))


def _documents() -> Iterator[Damage]:
    results = r"(r|t|one|pilot)\.json|.*/result\.json"
    yield Damage(results, changed_document(_unknown_field))
    yield Damage(results, changed_document(_other_schema))
    yield Damage(results, changed_document(_wrong_value(float("nan"), float("inf"))))
    yield Damage(results, changed_document(_wrong_value("x", [], True, {"a": 1})))
    yield Damage(results, _nested)
    yield Damage(r".*/model\.safetensors", _flipped)
    yield Damage(r".*/model\.safetensors", _not_finite_model, signed=True)
    yield Damage(r"(enc/)?tiny\.json", _fields(sha256="0" * 64, bytes=1, front_end="x", dim=81, sample_rate=8000))
    yield Damage(r"enc/tiny\.json", _fields(file="../tiny.onnx"))


DAMAGES = (*_texts(), *_binaries(), *_documents(), *audit_damages())
