"""Whole commands as users type them, timed in new processes beside a bare reading and sorting of the same scores.

python benchmarks/commands.py [--scores 10000000] [--recordings 4] [--only NAME ...] [--data ../shared/data]

Each line has the time of a command, the floor (a new process that reads the same files with polars and sorts all their
scores), the ratio of both, that of their processor times, which other work on the machine changes less, and the most
memory that each took.

An audit reads speech and not scores. Whatever it does, an encoder has to hear all recordings twice, as they are and
protected. So its floor is a process that reads them and runs the bare encoder on each twice, with one recording on each
core. It protects nothing, follows no pitch, trains nothing, and compares and resamples nothing. It is timed once, as is
the audit. Of a protection that draws something for each recording, the audit has two draws where there is no GPU; it
also hears what was drawn again, which the floor does not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FLOOR = """
import sys, numpy, polars
for path in sys.argv[1:]:
    scores = polars.read_csv(path, separator=" ", has_header=False, quote_char=None).to_series(2).to_numpy()
    numpy.sort(scores)
"""
_SHORT = 20.0  # seconds; what is shorter is timed twice with its floor, and the better counts
SPEECH = """
import sys
from concurrent.futures import ThreadPoolExecutor
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR, load_extractor
from zeroevidence.data.audio import load_audio
from zeroevidence.data.formats.corpora import read_corpus
from zeroevidence.run import available_cores
encoder = load_extractor(DEFAULT_EXTRACTOR)
def hear(one):
    features = encoder.features(load_audio(one, encoder.sample_rate))[None]
    encoder.forward(features)
    encoder.forward(features)
with ThreadPoolExecutor(available_cores()) as pool:
    list(pool.map(hear, read_corpus(sys.argv[1], draw=False)))
"""


@dataclass(frozen=True)
class Took:
    """Wall-clock seconds, processor time in seconds, and the most memory in MB."""

    seconds: float
    processor: float
    memory: float


@dataclass(frozen=True)
class Case:
    """Words of a command, and the process that it is compared with."""

    words: list[str]
    floor: list[str]


def took(command: list[str]) -> Took:
    """Run a process and see what it takes."""
    start = time.perf_counter()
    # Compiled modules may be kept, as an installed package has them.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: {process.stderr.read().decode()}")  # type: ignore[union-attr]
    process.stderr.close()  # type: ignore[union-attr]
    return Took(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write_scores(path: Path, speakers: int, trials: int, strength: float) -> Path:
    """A list of about so many trials of so many speakers, each compared with some of the others: pairs, no search."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    heard = rng.integers(speakers, size=trials // 20)
    compared = np.repeat(heard, 20)
    claimed = np.where(np.tile(np.arange(20) < 2, len(heard)), compared, rng.integers(speakers, size=len(compared)))
    utterance = np.repeat(np.arange(len(heard)), 20)
    own = claimed == compared
    frame = pl.DataFrame({"claimed": claimed, "utterance": utterance, "heard": compared, "own": own}).with_columns(
        score=pl.Series(rng.normal(size=len(own)) + strength * own)
    )
    frame = frame.unique(["claimed", "utterance"], keep="first", maintain_order=True)
    frame.select(
        pl.format("s{}", "claimed"),
        pl.format("s{}-u{}", "heard", "utterance"),
        "score",
        pl.when("own").then(pl.lit("target")).otherwise(pl.lit("nontarget")).alias("label"),
    ).write_csv(path, separator=" ", include_header=False, float_precision=5)
    return path


def written(path: Path, speakers: int, trials: int, strength: float) -> Path:
    """The same by another process: what this one holds would count as memory of those that it starts."""
    subprocess.run(
        [sys.executable, __file__, "--write", str(path), str(speakers), str(trials), str(strength)], check=True
    )
    return path


def listed(corpus: Path, table: Path, recordings: int) -> Path:
    """A table of the first so many recordings of each person in a folder."""
    lines = ["utterance\tspeaker\tpath\n"]
    for person in sorted(path for path in corpus.iterdir() if path.is_dir()):
        for path in sorted(person.glob("*.flac"))[:recordings]:
            lines.append(f"{path.stem}\t{person.name}\t{path.resolve()}\n")
    table.write_text("".join(lines), encoding="utf-8")
    return table


def cases(home: Path, scores: int, data: Path, recordings: int) -> dict[str, Callable[[], Case]]:
    """Commands by name; each makes its files when it is asked for."""

    def floor(*paths: Path) -> list[str]:
        return [sys.executable, "-c", FLOOR, *map(str, paths)]

    def evaluate(name: str, speakers: int, trials: int) -> Callable[[], Case]:
        def made() -> Case:
            path = written(home / name, speakers, trials, 2.0)
            return Case(["evaluate", str(path)], floor(path))

        return made

    def six() -> list[Path]:
        return [written(home / f"system{i}.scores", 100, 100_000, 1.0 + 0.2 * i) for i in range(6)]

    def compare() -> Case:
        return Case(["compare", *map(str, six())], floor(*six()))

    def report() -> Case:
        paths = six()
        return Case(["report", *map(str, paths), "-o", str(home / "report.html"), "--overwrite"], floor(*paths))

    def voiceprivacy() -> Case:
        folder = data / "scores/vpc2020"
        score, key = (
            (folder / file_name).resolve(strict=True) for file_name in ("samegender_f0mod/oa_f.scores", "trials_f")
        )
        return Case(["evaluate", str(score), "--key", str(key)], floor(score, key))

    def audit(protector: str, draws: int) -> Callable[[], Case]:
        def made() -> Case:
            corpus = str(listed(data / "audiomnist", home / "audiomnist.tsv", recordings))
            words = ["audit", corpus, "--protect", protector, "--draws", str(draws), "-o", str(home / f"audit{draws}")]
            return Case(words, [sys.executable, "-c", SPEECH, corpus])

        return made

    return {
        f"evaluate, {scores:,} scores, 1000 speakers": evaluate("many.scores", 1000, scores),
        "evaluate, 552,000 scores, 1190 speakers": evaluate("voxceleb.scores", 1190, 552_000),
        "evaluate, VoicePrivacy 2020": voiceprivacy,
        "compare, six systems of 100,000": compare,
        "report, six systems of 100,000": report,
        f"audit, 60 people, {recordings} recordings each": audit("mcadams", 1),
        f"audit with two draws, 60 people, {recordings} recordings each": audit("mcadams:0.5..0.9:utterance", 2),
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", type=int, default=10_000_000)
    parser.add_argument("--only", action="append", default=[], help="cases whose names begin like this")
    parser.add_argument("--recordings", type=int, default=4, help="of each person in the audit, at most 16 [4]")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared/data")
    parser.add_argument("--write", nargs=4, metavar=("FILE", "SPEAKERS", "TRIALS", "STRENGTH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_scores(Path(options.write[0]), int(options.write[1]), int(options.write[2]), float(options.write[3]))
        return
    print("| command | time [s] | floor [s] | ratio | of processor times | memory [MB] | of the floor [MB] |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name, made in cases(Path(folder), options.scores, options.data, options.recordings).items():
            if options.only and not any(name.startswith(beginning) for beginning in options.only):
                continue
            try:
                case = made()
            except FileNotFoundError:
                print(f"| {name} | no files in {options.data} | | | | | |")
                continue
            command = [sys.executable, "-m", "zeroevidence", *case.words]
            floors, times = [took(case.floor)], [took(command)]
            if times[0].seconds < _SHORT:
                floors.append(took(case.floor))
                times.append(took(command))
            floor, ours = (min(of_each, key=lambda timed: timed.seconds) for of_each in (floors, times))
            least, least_floor = (min(timed.processor for timed in of_each) for of_each in (times, floors))
            ratios = f"{ours.seconds / floor.seconds:.1f} | {least / least_floor:.1f}"
            cells = f"{ours.seconds:.1f} | {floor.seconds:.2f} | {ratios} | {ours.memory:.0f} | {floor.memory:.0f}"
            print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
