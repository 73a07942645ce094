"""Every reader of files whose input changes, gets shorter or disappears at any of the calls that read it."""

import json
import os
import struct
import sys

import numpy as np
import polars as pl
import pytest

from tests.effort import repetitions
from zeroevidence.data.audio import load_audio, write_audio
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.data.json_values import load_json
from zeroevidence.errors import InputError

_CALLS = {"open", "stat", "fstat", "read", "readinto", "readline", "seek", "load"}
_CALLS |= {"read_csv", "read_parquet", "collect"}  # of polars
_LONG_AGO = 10**18  # nanoseconds: a change within the tick of the clock that wrote a file would have no other time


def embeddings(path):
    found = read_embeddings(path)
    return found.vectors.tolist(), found.ids.tolist()


def scores(path):
    found = read_scores(path).data
    return found.target.tolist(), found.nontarget.tolist()


def write(kind, path, seed):
    """Write values of a seed, in as many bytes for each."""
    rng = np.random.default_rng(seed)
    vectors, names = rng.integers(10, 100, (6, 3)).astype(np.float32), [f"u{i}" for i in range(6)]
    if kind == "npy":
        np.save(path, vectors)
    elif kind == "npz":
        np.savez(path, vectors=vectors, utterance=names)
    elif kind == "parquet":
        frame = pl.DataFrame({"embedding": vectors.tolist(), "utterance": names})
        frame.write_parquet(path, compression="uncompressed")
    elif kind == "csv":
        rows = "".join(f"{n},{a:g},{b:g},{c:g}\n" for n, (a, b, c) in zip(names, vectors, strict=True))
        path.write_text(f"utterance,a,b,c\n{rows}")
    elif kind == "ark":
        ark = (f"{n} ".encode() + b"\0BFV \4" + struct.pack("<i3f", 3, *v) for n, v in zip(names, vectors, strict=True))
        path.write_bytes(b"".join(ark))
    elif kind == "scores":
        pairs = (f"p{i} u{j} {rng.integers(10, 100)} {'non' * (i != j)}target\n" for i in range(3) for j in range(3))
        path.write_text("".join(pairs))
    elif kind == "json":
        path.write_text(json.dumps(vectors.tolist()))
    else:
        write_audio(path, 0.001 * rng.integers(-100, 100, 4000))
    os.utime(path, ns=(_LONG_AGO, _LONG_AGO))


READERS = dict.fromkeys(("npy", "npz", "parquet", "csv", "ark"), embeddings) | {"scores": scores, "json": load_json}
READERS |= dict.fromkeys(("wav", "flac"), lambda path: load_audio(path).tolist())


def change(kind, path):
    other = path.with_suffix(".other." + kind)
    write(kind, other, 1)
    data = other.read_bytes()
    with path.open("r+b") as stream:
        stream.write(data)
        stream.truncate()


CHANGES = {
    "changes": change,
    "gets shorter": lambda _, path: os.truncate(path, path.stat().st_size // 2),
    "disappears": lambda _, path: path.unlink(),
}


def read(kind, path, moment, how):
    """Return what is read where the file changes before so many calls, and the number of calls; 0: before them all."""
    calls = 0

    def watch(_, event, call):
        nonlocal calls
        if event == "c_call" and getattr(call, "__name__", "") in _CALLS:
            calls += 1
            if calls == moment:
                sys.setprofile(None)
                CHANGES[how](kind, path)

    if moment == 0:
        CHANGES[how](kind, path)
    sys.setprofile(watch)
    try:
        value = READERS[kind](path)
    except InputError as error:
        value = error
    finally:
        sys.setprofile(None)
    return value, calls


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("kind", READERS)
def test_what_is_read_is_one_of_both_files_or_refused_by_name(tmp_path, kind, how):
    if kind in ("wav", "flac"):
        pytest.importorskip("soundfile")
    path = tmp_path / f"file.{kind}"

    def at(moment):
        write(kind, path, 0)
        return read(kind, path, moment, how)

    (before, calls), (after, _) = at(-1), at(0)
    assert not isinstance(before, InputError)
    assert calls
    outcomes = [at(int(moment))[0] for moment in np.linspace(1, calls, repetitions(3, calls)).round()]
    for outcome in outcomes:
        if isinstance(outcome, InputError):
            assert str(outcome).startswith(f"{path}:")
        else:
            assert outcome in (before, after)
    assert any(isinstance(outcome, InputError) for outcome in outcomes)
