"""Damage of recordings, corpora and folders of audits that a command must refuse."""

import json
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.fuzz.damage.changes import Damage, changed_arrays, changed_document, not_finite

_NO_RATES = (1, 2000, 3999, 768_001, 2**31 - 1)


def _chosen(arrays: dict[str, Any], begins: str, rng: random.Random) -> str:
    """An array with such a name, of those of which an archive of attackers' scores holds several."""
    return rng.choice(sorted(name for name in arrays if name.startswith(begins)))


def _without_scores(arrays: dict[str, Any], rng: random.Random) -> None:
    del arrays[_chosen(arrays, rng.choice(("0.", "1.", "mated")), rng)]


def _not_finite_scores(arrays: dict[str, Any], rng: random.Random) -> None:
    not_finite(_chosen(arrays, rng.choice(("0.", "1.")), rng))(arrays, rng)


def _same_trials(arrays: dict[str, Any], rng: random.Random) -> None:
    name = _chosen(arrays, "trials", rng)
    arrays[name][-1] = arrays[name][0]


def _other_index(arrays: dict[str, Any], rng: random.Random) -> None:
    """An index of searches that are not there, with other fields, or of no attackers at all."""
    entries = json.loads(str(arrays["index"]))
    changes: tuple[Callable[[], Any], ...] = (
        lambda: [{**entry, "evaluated": [99]} for entry in entries],
        lambda: [{**entry, "evaluated": []} for entry in entries],
        lambda: [{**entry, "surprise": 1} for entry in entries],
        lambda: [{"evaluated": entry["evaluated"]} for entry in entries],
        lambda: rng.choice(({}, "x", 3, [[]], [None])),
    )
    arrays["index"] = np.array(json.dumps(rng.choice(changes)()))


def _fewer_attackers(arrays: dict[str, Any], rng: random.Random) -> None:
    entries = json.loads(str(arrays["index"]))
    arrays["index"] = np.array(json.dumps(entries[: rng.randrange(1, len(entries))]))


def _wrong_card(document: dict[str, Any], rng: random.Random) -> None:
    """A field of a protector's card that is gone, of another type, or not known."""
    kind = rng.randrange(3)
    if kind == 0:
        del document[rng.choice(("name", "defence", "method", "utility", "opportunity", "resources"))]
    elif kind == 1:
        document[rng.choice(("name", "opportunity", "release", "parts"))] = rng.choice((3, True, ["x", 1], {"a": 1}))
    else:
        rng.choice([document, *([document["release"]] if "release" in document else [])])["surprise"] = "x"


def _wrong_record(data: bytes, rng: random.Random) -> bytes:
    """A line of a corpus of JSON lines that is no object, or lacks a field, or has text that no line could hold."""
    lines = data.decode().splitlines()
    at = rng.randrange(len(lines))
    record, needed = json.loads(lines[at]), rng.choice(("speaker", "audio_filepath"))
    changes: tuple[Callable[[], Any], ...] = (
        lambda: [record],
        lambda: {name: value for name, value in record.items() if name != needed},
        lambda: {**record, "speaker": rng.choice(("\ud800", "a\x00b", "a\x1bb"))},
        lambda: {**record, "offset": rng.choice((-1, 1e300, "x", True))},
        lambda: {**record, "audio_filepath": "speech/absent.wav"},
        lambda: {**record, "path": "speech/absent.wav"},
    )
    lines[at] = json.dumps(rng.choice(changes)())
    return "".join(f"{line}\n" for line in lines).encode()


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) // 2, len(data) - 2)]


def _announcing(data: bytes, rng: random.Random) -> bytes:
    """A header that announces more samples than there are."""
    size = struct.pack("<I", rng.choice((len(data) + 2000, 10**9, 345_600_000)))
    at = data.index(b"data") + 4
    return data[:at] + size + data[at + 4 :]


def _at_rate(data: bytes, rng: random.Random) -> bytes:
    return data[:24] + struct.pack("<I", rng.choice(_NO_RATES)) + data[28:]


def _silent(data: bytes, _: random.Random) -> bytes:
    at = data.index(b"data") + 8
    return data[:at] + bytes(len(data) - at)


def audit_damages() -> Iterator[Damage]:
    """Yield damages of recordings, of corpora in JSON lines, and of what an audit and a release write."""
    for wave_change in (_cut, _announcing, _at_rate, _silent):
        yield Damage(r".*\.wav", wave_change, ("anonymise", "audit", "doctor"))  # `kit check` reads headers
    yield Damage(r"manifest\.jsonl", _wrong_record)
    for change in (_not_finite_scores, _without_scores, _same_trials, _other_index, _fewer_attackers, _fewer_attackers):
        yield Damage(r".*/scores\.npz", changed_arrays(change))
    yield Damage(r".*/protector\.json", changed_document(_wrong_card))
