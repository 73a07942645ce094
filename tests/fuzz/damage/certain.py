"""Damage that a command must refuse: one of a kind, done to one file or argument, and to nothing else."""

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

from tests.fuzz.damage.anything import nested
from tests.fuzz.damage.audits import audit_damages
from tests.fuzz.damage.changes import Change, Damage, changed_arrays, changed_document, changed_lines, not_finite
from tests.fuzz.seeds.target import Files, Target

UNPACKED = 1 << 25  # bytes that a file may become while cases run
_NO_NUMBERS = ("nan", "inf", "-inf", "1e999", "0x10", "1_000", "\u00b2", "\u0663", "None", "1,5", "--1")
_NO_CELLS = tuple(value for value in _NO_NUMBERS if "," not in value)
_NO_LABELS = ("yes", "2", "targets", "Target?", "-2")
_NO_WEIGHTS = ("nan", "inf", "-inf", "1e39", "-1e300", "2e6")


def refused_case(target: Target, rng: random.Random) -> tuple[Target, Files] | None:
    """A command line and files that must be refused, None where no damage of these suits the command."""
    choices: list[Callable[[], tuple[Target, Files]]] = []
    for name in dict.fromkeys(target.damaged):
        for damage in DAMAGES:
            if re.fullmatch(damage.names, name) and (not damage.commands or target.command in damage.commands):
                choices.append(functools.partial(_changed, target, name, damage, rng))
    if target.command == "link":
        arguments = (*target.arguments, "--weight", rng.choice(_NO_WEIGHTS))
        choices += [lambda: (replace(target, arguments=arguments), dict(target.files))] * 2
    return rng.choice(choices)() if choices else None


def _changed(target: Target, name: str, damage: Damage, rng: random.Random) -> tuple[Target, Files]:
    files = dict(target.files)
    files[name] = damage.change(files[name], rng)
    if damage.signed:
        sign(files, name)
    return target, files


def sign(files: Files, name: str) -> None:
    """Give a damaged model the digest it needs to be looked at at all."""
    card = name.replace(".safetensors", ".json")
    document = json.loads(files[card])
    document["sha256"] = hashlib.sha256(files[name]).hexdigest()
    files[card] = json.dumps(document).encode()


def _cell(column: int, values: tuple[str, ...], first: int = 0, separator: str = " ") -> Change:
    """Another value in a column of some line."""

    def change(rows: list[list[str]], rng: random.Random) -> None:
        rows[rng.randrange(first, len(rows))][column] = rng.choice(values)

    return changed_lines(change, separator)


_TWICE = changed_lines(lambda rows, rng: rows.insert(rng.randrange(len(rows)), list(rng.choice(rows))))
_GONE = changed_lines(lambda rows, rng: rows.pop(rng.randrange(len(rows))))
_NEW = changed_lines(lambda rows, rng: rows.insert(rng.randrange(len(rows)), ["p0", "nobody", rows[0][2]]))
_LONGER = changed_lines(lambda rows, rng: rng.choice(rows).append("x"))


def _one_class(data: bytes, rng: random.Random) -> bytes:
    label = rng.choice((b"target", b"nontarget"))
    return b"".join(line.rsplit(b" ", 1)[0] + b" " + label + b"\n" for line in data.splitlines())


def _no_rate(rows: list[list[str]], rng: random.Random) -> None:
    """A number of a table as kits print it; a comma would end a cell."""
    rng.choice([row for row in rows if row[0].isdigit()])[-1] = rng.choice(_NO_CELLS)


def _byte(separator: bytes) -> Change:
    """A byte that is no text, in a name: of another encoding, or a control character."""

    def change(data: bytes, rng: random.Random) -> bytes:
        lines = data.splitlines(keepends=True)
        at = rng.randrange(1, len(lines))
        lines[at] = lines[at].replace(separator, rng.choice((b"\xe9", b"\xff", b"\x00", b"\x1b")) + separator, 1)
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


def _row(document: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    row: dict[str, Any] = rng.choice(document["rows"])
    return row


def _unknown_field(document: dict[str, Any], rng: random.Random) -> None:
    row = _row(document, rng)
    rng.choice((row, row["setup"], next(iter(row["metrics"].values()))))["surprise"] = 1


def _wrong_value(*values: Any) -> Callable[[dict[str, Any], random.Random], None]:
    def change(document: dict[str, Any], rng: random.Random) -> None:
        metrics = _row(document, rng)["metrics"]
        metrics[rng.choice(list(metrics))]["value"] = rng.choice(values)

    return change


def _edited(document: dict[str, Any], rng: random.Random) -> None:
    """A number of a result that its signature or its limits contradict."""
    row = _row(document, rng)
    limited = [result for result in row["metrics"].values() if isinstance(result.get("low"), float)]
    if limited and rng.random() < 0.5:
        result = rng.choice(limited)
        result["value"] = result["low"] - 0.01
    else:
        row["counts"][rng.choice([name for name in ("target", "nontarget", "speakers") if name in row["counts"]])] += 1


def _flipped(data: bytes, rng: random.Random) -> bytes:
    at = len(data) - 1 - rng.randrange(8)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _not_finite_model(data: bytes, rng: random.Random) -> bytes:
    import safetensors.numpy as tensors

    arrays = {name: np.array(array) for name, array in sorted(tensors.load(data).items())}
    name = rng.choice([name for name, array in arrays.items() if array.dtype.kind == "f" and array.size])
    arrays[name].flat[rng.randrange(arrays[name].size)] = rng.choice((np.nan, np.inf))
    return bytes(tensors.save(arrays))


def _field(**fields: Any) -> Change:
    """Another value of one of these fields."""
    return changed_document(lambda document, rng: document.update([rng.choice(list(fields.items()))]))


def _texts() -> Iterator[Damage]:
    pairs, key = r"(few\.)?(kaldi|other)\.scores", r"(few\.)?kaldi\.key"
    yield from (Damage(pairs, change) for change in (_cell(2, _NO_NUMBERS), _TWICE, _GONE, _NEW, _LONGER))
    yield from (Damage(key, change) for change in (_cell(2, _NO_LABELS), _TWICE, _GONE, _one_class))
    labelled = (_cell(2, _NO_NUMBERS), _cell(3, _NO_LABELS), _byte(b" "))
    yield from (Damage(r"formats/labelled", change) for change in labelled)
    yield Damage(r"formats/two-column", _cell(0, _NO_NUMBERS))
    yield from (Damage(r"cm\.txt", change) for change in (_cell(3, _NO_NUMBERS), _TWICE, _LONGER))
    yield from (Damage(r"asv\.txt", change) for change in (_cell(2, _NO_NUMBERS), _LONGER))
    yield Damage(r"formats/table44", _cell(2, _NO_CELLS, 1, ","))
    yield Damage(r"formats/table44", _byte(b","))
    yield Damage(r"mated\.txt", _cell(0, _NO_NUMBERS, 1))
    yield Damage(r"named\.csv", _cell(0, _NO_CELLS, 1, ","))
    yield Damage(r"named\.csv", _cell(1, _NO_LABELS, 1, ","))
    yield Damage(r"people|sessions", _GONE)
    yield Damage(r"sessions", _LONGER)
    yield Damage(r"ranks/.*|kit\.txt", changed_lines(_no_rate))
    for change in (_one_line, _packed):
        yield Damage(r"kaldi\.scores|formats/(labelled|two-column|table44)", change)


def _binaries() -> Iterator[Damage]:
    for change in (not_finite("vectors"), _objects, _shorter):
        yield Damage(r"[ET]\.npz|voices\.npz|bare\.npz", changed_arrays(change), ("link", "protect"))
    same_ids = changed_arrays(lambda arrays, _: arrays["utterance"].put(-1, arrays["utterance"][0]))
    yield Damage(r"[ET]\.npz", same_ids, ("link",))
    yield Damage(r"[ET]\.npz|voices\.npz", lambda *_: _bomb())
    yield Damage(r"formats/matrix\.npz", changed_arrays(not_finite("scores")))
    yield Damage(r"formats/matrix\.npz|.*/scores\.npz", changed_arrays(_out_of_range))


def _documents() -> Iterator[Damage]:
    results = r"(r|t|one|pilot)\.json|.*/result\.json"
    yield Damage(results, changed_document(_unknown_field))
    yield from (Damage(results, _field(schema=schema)) for schema in ("zeroevidence/evaluation/2", "", None))
    yield Damage(results, changed_document(_wrong_value(float("nan"), float("inf"))))
    yield Damage(results, changed_document(_wrong_value("x", [], True, {"a": 1})))
    yield Damage(results, nested)
    yield Damage(results, changed_document(_edited))
    yield Damage(r"sealed\.json", changed_document(lambda result, _: result["rows"][0]["labels"].update(system="x")))
    yield Damage(r".*/model\.safetensors", _flipped)
    yield Damage(r".*/model\.safetensors", _not_finite_model, signed=True)
    yield Damage(r"(enc/)?tiny\.json", _field(sha256="0" * 64, bytes=1, front_end="x", dim=81, sample_rate=8000))
    yield Damage(r"enc/tiny\.json", _field(file="../tiny.onnx"))


DAMAGES = (*_texts(), *_binaries(), *_documents(), *audit_damages())
