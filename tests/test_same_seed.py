"""The same seed, any number of threads and workers: the same results, byte for byte."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.effort import slow
from tests.speech import write_noise

RESAMPLED = ("--intervals", "40", "--null", "130", "-f", "json")  # more than one batch of draws
COMMANDS = {
    "evaluate": ("evaluate", "a.scores", "--key", "key", *RESAMPLED),
    "compare": ("compare", "a.scores", "b.scores", "--key", "key", "--intervals", "40", "-f", "json"),
    "tandem": ("tandem", "evaluate", "--cm", "cm.txt", "--asv", "asv.txt", "-f", "json"),
    "link": ("link", "--enrol", "voices.npz", "--trial", "voices.npz", "--allow-same"),
    "anonymise": ("anonymise", "speech", "--protect", "mcadams-random", "--seed", "3"),
    "choose": ("protect", "fit", "voices.npz", "--attribute", "sex"),
    "fit in closed form": ("protect", "fit", "voices.npz", "--attribute", "sex", "--protector", "transport"),
    "fit a network": ("protect", "fit", "voices.npz", "--attribute", "sex", "--protector", "flow", "--set", "epochs=2"),
}
WORKERS = {**dict.fromkeys(["evaluate", "compare", "anonymise", "choose"], "--workers"), "link": "--threads"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("seeds")
    rng = np.random.default_rng(0)
    pairs = [(f"p{e}", f"u{t}", t % 12 == e) for t in range(48) for e in range(12)]
    for name in "ab":
        lines = (f"{e} {t} {rng.normal(2.0 * mated):.3f}\n" for e, t, mated in pairs)
        (home / f"{name}.scores").write_text("".join(lines))
    (home / "key").write_text("".join(f"{e} {t} {'target' if mated else 'nontarget'}\n" for e, t, mated in pairs))
    kinds = {"- bonafide": 1.5, "A07 spoof": -1.5}
    cm = (f"u{i}_{at} {kind} {rng.normal(at):.3f}\n" for kind, at in kinds.items() for i in range(30))
    (home / "cm.txt").write_text("".join(cm))
    kinds = {"- target": 2.0, "- nontarget": -2.0, "A07 spoof": 1.0}
    (home / "asv.txt").write_text("".join(f"{k} {rng.normal(at):.3f}\n" for k, at in kinds.items() for _ in range(30)))
    people, sex = np.repeat([f"s{i:02d}" for i in range(30)], 8), np.repeat(["f", "m"] * 15, 8)
    vectors = np.repeat(rng.normal(size=(30, 24)), 8, axis=0) + 0.5 * rng.normal(size=(240, 24))
    np.savez(home / "voices.npz", vectors=vectors.astype(np.float32), speaker=people, sex=sex)
    write_noise(home / "speech", 3, 4, 64_000)
    return home


def made(home, name, count):
    """What a command writes with so many threads of every library, and workers of its own."""
    threads = {variable: str(count) for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")}
    more = (WORKERS[name], str(count)) if name in WORKERS else ()
    out = home / f"{name} {count}"
    command = [sys.executable, "-m", "zeroevidence", *COMMANDS[name], *more, "-o", str(out)]
    subprocess.run(command, cwd=home, env={**os.environ, **threads}, check=True, capture_output=True)
    if out.is_file():
        return {"": out.read_bytes()}
    files = (path for path in out.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


QUICK = ("evaluate", "tandem", "link")


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=slow) for name in COMMANDS])
def test_threads_and_workers_change_nothing(files, name):
    if "protect" in COMMANDS[name]:
        pytest.importorskip("safetensors")
        pytest.importorskip("torch")
    assert made(files, name, 1) == made(files, name, 3)
