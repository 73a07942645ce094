"""Kill commands at random moments, count the processes that are left, start them again, and compare what they write.

    python benchmarks/kills.py [--only NAME ...] [--kills 5] [--seed 0]

Each command runs once undisturbed. Then its main process, and no other, gets SIGKILL after a random share of that time,
again and again; each time the same command is started again at once and goes on with what the killed one has left.
Five seconds after a kill no process may be left that the command has started, directly or not: all of them have a token
in their environment, by which they are found in /proc. In the end everything that was written, file by file, must be
the same bytes as without kills; nothing is left out of that.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "src" / "zeroevidence" / "sample" / "scores" / "eval"
TOKEN = "ZEROEVIDENCE_KILL"
PATIENCE = 5.0  # seconds after which nothing may be left
SLOW_COPY = """sh -c 'sleep 0.2; cp "$1" "$2"' sh {input} {output}"""


@dataclass(frozen=True)
class Case:
    """A command, which writes to ``out``."""

    name: str
    arguments: str


SPEECH = "{here}/speech/original"
SEARCH = "link --enrol {here}/e.npz --trial {here}/t.npz --weight 3 --block 40 -o out"
SCORES = f"{SAMPLE}/oo.scores {SAMPLE}/oa.scores {SAMPLE}/aa.scores --key {SAMPLE}/trials"
CASES = (
    Case("audit-protect", f"audit {SPEECH} --protect mcadams --effort quick -o out"),
    Case("audit-folders", f"audit {SPEECH} --anonymised {{here}}/speech/anonymised --effort quick -o out"),
    Case("anonymise", "anonymise {here}/more/original --protect mcadams+pitch:2 --seed 1 -o out"),
    Case("anonymise-command", f"anonymise {SPEECH} --protect {shlex.quote('command:' + SLOW_COPY)} --seed 1 -o out"),
    Case("link", f"{SEARCH} --engine numpy"),
    Case("link-dask", f"{SEARCH} --engine dask"),
    Case("train-attacker", "train-attacker {here}/speech/anonymised --device cpu --epochs 4 -o out"),
    Case("protect-fit", "protect fit {here}/voices.npz --attribute sex -o out"),
    Case("protect-evaluate", "protect evaluate {here}/voices.npz --attribute sex --protector leace -f json -o out"),
    Case("report", f"report {SCORES} -o out"),
    Case("compare", f"compare {SCORES} --intervals 1000 -f json -o out"),
    Case("plan", "plan --people 30 --leak 0.2 --simulations 8 -f json -o out"),
    Case("evaluate", f"evaluate {SCORES} --intervals 1000 --null 1000 --workers 2 -f json -o out"),
    Case("serve", "serve --port 0"),
)


def make_material(folder: Path, seed: int) -> None:
    """Write speech and embeddings into a folder."""
    for name, people in (("speech", 10), ("more", 24)):
        script = [sys.executable, ROOT / "scripts" / "make_speech.py", folder / name, "--people", str(people)]
        subprocess.run(script, check=True)
    rng = np.random.default_rng(seed)
    names = np.array([f"p{i}" for i in range(6000)])
    voices = rng.standard_normal((6000, 64)).astype(np.float32)
    trials = (voices + rng.standard_normal(voices.shape)).astype(np.float32)
    np.savez(folder / "e.npz", vectors=voices, utterance=names, speaker=names)
    np.savez(folder / "t.npz", vectors=trials, utterance=names, speaker=names)
    sex = np.repeat(["f", "m"] * 30, 10)
    vectors = np.repeat(rng.normal(size=(60, 32)), 10, axis=0) + 0.5 * rng.normal(size=(600, 32))
    vectors[:, 0] += np.where(sex == "f", 1.0, -1.0)
    np.savez(folder / "voices.npz", vectors=vectors, speaker=np.repeat(names[:60], 10), sex=sex)


class Command:
    """A running command, whose processes can be found."""

    def __init__(self, case: Case, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        arguments = shlex.split(case.arguments.replace("{here}", str(folder.parent.parent)))
        self.token = uuid.uuid4().hex
        self.errors = folder / "errors"
        environment = {**os.environ, TOKEN: self.token, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(folder)}
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "zeroevidence", *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        if case.name == "serve":
            self._begin_job()

    def _begin_job(self) -> None:
        """Press the button of the page that attacks the bundled speech."""
        while not (address := re.search(r"127\.0\.0\.1:(\d+)", self.errors.read_text())):
            time.sleep(0.05)
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
        connection.request("GET", "/")
        form = re.search(r'action="(/sample/[^"]+)"', connection.getresponse().read().decode())
        assert form is not None
        connection.request("POST", form[1], headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert connection.getresponse().status == 303
        connection.close()

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def finish(self) -> None:
        """Wait for its end; where it was killed after its last step, it may say that everything is there."""
        if self.process.wait() != 0 and "--overwrite" not in self.errors.read_text():
            raise SystemExit(f"{shlex.join(map(str, self.process.args))}: {self.errors.read_text()}")

    def is_done_within(self, seconds: float) -> bool:
        """Return whether it ends by itself within so many seconds."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill its main process."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def watch(self) -> tuple[float, list[str]]:
        """Return when the last of the other processes ended, and those that did not in time, which are killed."""
        begun = time.monotonic()
        while (left := self.others()) and time.monotonic() - begun < PATIENCE:
            time.sleep(0.05)
        seconds, lines = time.monotonic() - begun, [describe(number) for number in left]
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        return seconds, lines

    def others(self) -> list[int]:
        """Return the processes that it has started, directly or not."""
        return [number for number in numbers() if self.token.encode() in read(number, "environ")]


def numbers() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def read(number: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{number}/{name}").read_bytes()
    except OSError:
        return b""


def describe(number: int) -> str:
    return read(number, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace")[:100]


def written(place: Path) -> dict[str, bytes]:
    """Return the bytes of a file, or of all files of a folder."""
    if place.is_file():
        return {place.name: place.read_bytes()}
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def finish(case: Case, folder: Path) -> float:
    """Let a command end by itself, and return the seconds that it took."""
    begun = time.perf_counter()
    with Command(case, folder) as command:
        command.finish()
    return time.perf_counter() - begun


def try_case(case: Case, home: Path, kills: int, chance: random.Random) -> tuple[str, bool]:
    """Return the line of a command, and whether all is as it should be."""
    whole, killed = home / "whole", home / "killed"
    out, serves = killed / "out", case.name == "serve"
    took = 12.0 if serves else finish(case, whole)
    kept, watches = 0, []
    with ThreadPoolExecutor(kills) as watchers:
        while len(watches) < kills:
            with Command(case, killed) as command:
                if command.is_done_within(chance.uniform(0.0, 1.0) * took):
                    command.finish()
                    remove(out)  # all is done: begin again
                    continue
                command.kill()
                watches.append(watchers.submit(command.watch))
                kept += out.is_file() or any(files for _, _, files in os.walk(out))
        slowest = max(watch.result()[0] for watch in watches)
        left = [process for watch in watches for process in watch.result()[1]]
    different = []
    if not serves:
        finish(case, killed)
        expected, resumed = written(whole / "out"), written(out)
        names = sorted(expected.keys() | resumed.keys())
        different = [name for name in names if expected.get(name) != resumed.get(name)]
    same = f"NO: {', '.join(different[:5])}" if different else "-" if serves else f"yes ({len(expected)} files)"
    line = f"| {case.name} | {took:.1f} s | {kills} | {kept} | {len(left)} | {slowest:.1f} s | {same} |"
    return "\n".join([line, *(f"left: {process}" for process in left)]), not left and not different


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES])
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, passed = random.Random(options.seed), True
    print("| command | takes | kills | with work kept | processes left | last ended after | same bytes |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends what it has started
    with tempfile.TemporaryDirectory() as name:
        make_material(Path(name), options.seed)
        for case in CASES:
            if options.only is None or case.name in options.only:
                line, good = try_case(case, Path(name) / case.name, options.kills, chance)
                print(line, flush=True)
                passed &= good
    sys.exit(not passed)


if __name__ == "__main__":
    main()
