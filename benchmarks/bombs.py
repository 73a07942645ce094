"""Memory that commands take for small files that unpack to giants, as a Markdown table.

python benchmarks/bombs.py [--gigabytes 2] [--limit 1G]

Each command runs in a new process, on the bomb and on a small good file of the same kind. Memory is the largest that
the process had (`ru_maxrss`), less that of the command on the good file. The limit is that of the environment variable
for what may be unpacked.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from zeroevidence.data.files import LIMIT_VARIABLE

MIB = 1 << 20
# A process that starts another from a large one inherits its peak, so a small one stands between.
PEAK = """
import json, resource, subprocess, sys
found = subprocess.run([sys.executable, "-m", "zeroevidence", *sys.argv[1:]], capture_output=True, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
print(json.dumps({"code": found.returncode, "peak": peak, "said": found.stderr}))
"""


@dataclass(frozen=True)
class Bomb:
    """A kind of file: how a good one and a bomb are written, and the command that reads it.

    `good` and `bomb` take the file and, of the bomb, the bytes that it is to become; `command` has the words after the
    name of the program, in which FILE, HOME and OUT stand for the file, its folder and an output; `said` is a pattern
    of the answer to the bomb, and `needs` are the packages that it takes.
    """

    name: str
    file: str
    good: Callable[[Path], None]
    bomb: Callable[[Path, int], None]
    command: tuple[str, ...]
    said: str
    needs: tuple[str, ...] = ()

    def written(self, home: Path, make: Callable[[Path], None]) -> list[str]:
        """Make the file in a folder; return the command that reads it."""
        make(home / self.file)
        names = {"FILE": str(home / self.file), "HOME": str(home), "OUT": str(home / "out")}
        return [reduce(lambda text, name: text.replace(name, names[name]), names, word) for word in self.command]


def zipped_zeros(path: Path, member: str, head: bytes, size: int, copied: Path | None = None) -> None:
    """An archive with a member of zeros, compressed as it is written, beside the members of another."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        if copied is not None:
            with zipfile.ZipFile(copied) as plain:
                for one in plain.namelist():
                    archive.writestr(one, plain.read(one), zipfile.ZIP_STORED)
        with archive.open(member, "w", force_zip64=True) as stream:
            stream.write(head)
            for _ in range(size // (4 * MIB)):
                stream.write(bytes(4 * MIB))


def array_head(rows: int, columns: int) -> bytes:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)})
    return head.getvalue()


def few_vectors(path: Path) -> None:
    sex = np.repeat(["f", "m"], 20)
    vectors = np.random.default_rng(0).normal(size=(40, 4)) + (sex == "m")[:, None]
    np.savez_compressed(path, vectors=vectors, sex=sex, speaker=np.arange(40).astype(str))


def npz_vectors(path: Path, size: int) -> None:
    zipped_zeros(path, "vectors.npy", array_head(size // 4096, 1024), size)


def few_scores(path: Path) -> None:
    np.savez_compressed(path, scores=np.arange(40.0), labels=np.arange(40) % 3 % 2)


def npz_scores(path: Path, size: int) -> None:
    zipped_zeros(path, "scores.npy", array_head(size // 4096, 1024), size)


def few_rows(path: Path) -> None:
    import polars as pl

    pl.DataFrame({"score": np.arange(40.0), "label": np.arange(40) % 3 % 2}).write_parquet(path)


def parquet(path: Path, size: int) -> None:
    """Rows that are all the same; the parts of the table share one piece of memory."""
    import polars as pl

    part = pl.DataFrame({"score": np.zeros(MIB, np.float32), "label": np.zeros(MIB, np.int8)})
    pl.concat([part] * (size // (16 * MIB) + 1), rechunk=False).write_parquet(path)


def hdf5(path: Path, size: int | None = None) -> None:
    """Scores and key; those of the bomb are a dataset of chunks that were never written."""
    import h5py

    people, trials = [f"p{i}".encode() for i in range(4)], [f"u{i}".encode() for i in range(20)]
    with h5py.File(path, "w") as file:
        file["ID/row_ids"], file["ID/column_ids"] = people, trials
        if size is None:
            file["scores"] = np.random.default_rng(0).normal(size=(4, 20)).astype("f4")
        else:
            file.create_dataset("scores", (size // 4096, 1024), "f4", chunks=(64, 64), compression="gzip")
    with h5py.File(path.with_name("key.h5"), "w") as file:
        file["ID/row_ids"], file["ID/column_ids"] = people, trials
        file["trial_mask"] = np.where(np.arange(20) % 4 == np.arange(4)[:, None], 1, -1).astype("i1")


_LINES = "".join(
    f"p{e} u{t:02d} {(t % 4 == e) + 0.01 * t} {'non' * (t % 4 != e)}target\n" for t in range(20) for e in range(4)
)


def text(path: Path) -> None:
    path.write_text(_LINES)


def packed_text(path: Path, size: int) -> None:
    """The same member again and again: a file of gzip may have any number."""
    lines = _LINES.encode() * (16 * MIB // len(_LINES))
    path.write_bytes(gzip.compress(lines) * (size // len(lines) + 1))


def few_tensors(path: Path) -> None:
    """Vectors, and a protector for them."""
    import torch

    model(path.with_name("model"))
    torch.save(torch.tensor(np.random.default_rng(0).normal(size=(40, 4))), path)


def torch_zip(path: Path, size: int) -> None:
    few_tensors(path.with_name("plain.pt"))
    zipped_zeros(path, "archive/data/99", b"", size, path.with_name("plain.pt"))


def model(path: Path) -> None:
    """A protector, and vectors for it."""
    from zeroevidence.data.formats.vectors.read import read_embeddings
    from zeroevidence.protect.fitting import FitOptions, fit
    from zeroevidence.protect.models import save_model

    few_vectors(path.parent / "vectors.npz")
    save_model(fit(read_embeddings(path.parent / "vectors.npz"), "sex", FitOptions("linear")), path)


def model_with(head: bytes, path: Path) -> None:
    model(path)
    (path / "model.safetensors").write_bytes(head)
    told = json.loads((path / "model.json").read_text())
    (path / "model.json").write_text(json.dumps({**told, "sha256": hashlib.sha256(head).hexdigest()}))


def tensor_head(path: Path, size: int) -> None:
    """A header of a tensor that the file does not have."""
    head = json.dumps({"mean": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    model_with(struct.pack("<Q", len(head)) + head, path)


def head_length(path: Path, size: int) -> None:
    """A header that says to be as long."""
    model_with(struct.pack("<Q", size) + b"{}", path)


def result(path: Path) -> None:
    import zeroevidence as ze

    ze.evaluate(np.arange(20.0), np.arange(-9.0, 11.0), options=ze.Options(intervals=0, null=0)).save(path)


def nested(path: Path, size: int) -> None:
    """Lists in lists, each of 64 bytes in memory."""
    depth = size // 64
    path.write_text('{"schema": "zeroevidence/evaluation/3", "rows": ' + "[" * depth + "]" * depth + "}")


def recording(path: Path, rate: int = 16000, claimed: int | None = None, seconds: int = 4) -> None:
    """A buzz in a WAV file whose header has this rate and claims to have so many bytes of samples."""
    samples = (9000 * (np.arange(16000 * seconds) / 125.0 % 1.0 - 0.5)).astype("<i2").tobytes()
    size = len(samples) if claimed is None else claimed
    layout = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"RIFF%bWAVE%bdata%b" % (_word(28 + size), layout, _word(size)) + samples)


def _word(number: int) -> bytes:
    return struct.pack("<I", number)


def protected_recording(path: Path, **header: int) -> None:
    """A recording, and the original of it."""
    recording(path.parents[2] / "original" / "ann" / path.name)
    recording(path, **header)


def slow_recording(path: Path, size: int) -> None:
    """A recording of 1 Hz, which would be resampled to so many bytes."""
    protected_recording(path, rate=1, seconds=max(1, size // (4 * 16000 * 16000)))


def long_recording(path: Path, size: int) -> None:
    """A recording that claims to have so many bytes of samples."""
    protected_recording(path, claimed=size)


def endless_line(path: Path, size: int) -> None:
    """Numbers in one line, each of 56 bytes in memory once they are told apart."""
    path.write_bytes(b"55 " * (size // 56))


_EVALUATE = ("evaluate", "FILE", "--intervals", "0", "--null", "0")
_FIT = ("protect", "fit", "FILE", "--attribute", "sex", "--protector", "linear", "-o", "OUT")
_PROTECT = ("protect", "apply", "HOME/model", "FILE", "-o", "OUT.npz")
_LOAD = ("protect", "apply", "FILE", "HOME/vectors.npz", "-o", "OUT.npz")
_REPORT = ("report", "FILE", "-o", "OUT.html")
_UTILITY = ("utility", "--corpus", "HOME/original", "--anonymised", "HOME/protected", "--pitch", "--intervals", "0")
_LIMIT = rf": unpacks to .* GiB, and the limit is .* GiB; {LIMIT_VARIABLE}=\d+G raises it"
_SPEECH = "protected/ann/u1.wav"
_BROKEN = "model.safetensors: cannot be read as safetensors: "
BOMBS = (
    Bomb("npz, vectors", "v.npz", few_vectors, npz_vectors, _FIT, "v.npz" + _LIMIT),
    Bomb("npz, scores", "s.npz", few_scores, npz_scores, _EVALUATE, "s.npz" + _LIMIT),
    Bomb("parquet", "s.parquet", few_rows, parquet, _EVALUATE, "s.parquet" + _LIMIT),
    Bomb("hdf5", "s.h5", hdf5, hdf5, (*_EVALUATE, "--key", "HOME/key.h5"), "s.h5" + _LIMIT, ("h5py",)),
    Bomb("gzip", "s.scores", text, packed_text, _EVALUATE, "s.scores" + _LIMIT),
    Bomb("torch zip", "v.pt", few_tensors, torch_zip, _PROTECT, "v.pt" + _LIMIT, ("torch", "safetensors")),
    Bomb("safetensors, shape", "model", model, tensor_head, _LOAD, _BROKEN, ("safetensors",)),
    Bomb("safetensors, header", "model", model, head_length, _LOAD, _BROKEN, ("safetensors",)),
    Bomb("text, one line", "s.scores", text, endless_line, _EVALUATE, "s.scores:1: a line of more than 1048576 bytes"),
    Bomb(
        "WAV, 1 Hz",
        _SPEECH,
        protected_recording,
        slow_recording,
        _UTILITY,
        "u1.wav: sample rate of 1 Hz",
        ("soxr", "soundfile"),
    ),
    Bomb(
        "WAV, length",
        _SPEECH,
        protected_recording,
        long_recording,
        _UTILITY,
        "u1.wav: cut off: 128000 of",
        ("soxr", "soundfile"),
    ),
    Bomb("nested JSON", "r.json", result, nested, _REPORT, "r.json: lists are nested too deeply", ("jinja2",)),
)


@dataclass(frozen=True)
class Measurement:
    """A command on a file: exit code, what it said first, largest memory, bytes of the file."""

    code: int
    said: str
    peak: int
    size: int


def measured(one: Bomb, make: Callable[[Path], None], limit: str) -> Measurement:
    """Write a file into a new folder and give it to the command."""
    with tempfile.TemporaryDirectory() as folder:
        arguments, path = one.written(Path(folder), make), Path(folder) / one.file
        finished = subprocess.run(
            [sys.executable, "-c", PEAK, *arguments],
            env=os.environ | {LIMIT_VARIABLE: limit},
            capture_output=True,
            check=True,
        )
        told = json.loads(finished.stdout)
        size = sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir()))
        lines = told["said"].replace(f"{folder}/", "").strip().splitlines()
    return Measurement(told["code"], lines[0] if lines else "", told["peak"], size)


def both(one: Bomb, size: int, limit: str) -> tuple[Measurement, Measurement]:
    """The command on a good file and on the bomb."""
    return measured(one, one.good, limit), measured(one, lambda path: one.bomb(path, size), limit)


def in_words(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1000:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.0, help="what the bombs become")
    parser.add_argument("--limit", default="1G", help="what files may become")
    options = parser.parse_args(arguments)
    size = int(options.gigabytes * (1 << 30))
    print("| file | size | would become | more memory than a good file | exit code | message |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for one in BOMBS:
        good, bomb = both(one, size, options.limit)
        if good.code:
            raise SystemExit(f"{one.name}: the good file was refused: {good.said}")
        cells = (one.name, in_words(bomb.size), in_words(size), in_words(bomb.peak - good.peak), str(bomb.code))
        print(f"| {' | '.join(cells)} | `{bomb.said}` |", flush=True)


if __name__ == "__main__":
    main()
