"""What attackers with one or several vectors of a person learn about sex after the default protector, and its time.

    python benchmarks/protect_default.py [--data FOLDER] [--set NAME] [--workers 1] [--cuts 10] [--first 100]
                                         [--fit NAME] [--results FILE.jsonl]
    python benchmarks/protect_default.py --times 192,512

FOLDER holds `audiomnist_*.npz`, `speechocean_*.npz` and `vpc2020_xvectors/` and is looked for in
`../shared/data/embeddings` beside the project. The people of each sex (of speechocean762 those older than 13) are cut
at random: half are given to `zeroevidence.protect.fit`, which chooses by cross-validation among them alone, a quarter
trains attackers on protected vectors, a quarter is tested. So the people of the table chose nothing. `k` is the number
of vectors of a person that an attacker has at once. Of all quick attackers the one counts who learns most on average
over the cuts, and with --attackers a second table names it. `null` deals sex to people at random.

`EER` and `top-1` are those of a PLDA that was trained on unprotected vectors of the people fitted on. `age` is the
D_ECE of logistic regression about age, cut into four classes at quantiles of these people, where ages are known.
`seconds` is processor time of the fit.

Results are appended to FILE.jsonl, and what is there already is not measured again.

With --times, `zeroevidence protect fit` is run as a process of its own, with its defaults, on 1500 vectors of 75 people
that are drawn at random, of so many entries. The table has its seconds by the clock and of the processor.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from protect_sets import SETS, add_set_options, home_of, worked

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.protect import FitOptions, fit, load_model
from zeroevidence.protect.assessment.labels import DEFAULT_CLASSES, cut_number, quantile_boundaries
from zeroevidence.protect.choice import split_people
from zeroevidence.protect.quick_attackers import attacks_by_count, quick_attacks

LEAST_AGE = 14
VECTORS = {"1": 1, "3": 3, "10": 10, "all": None}
FITS = {"unprotected": None, "flow": FitOptions("flow"), "default": FitOptions()}


@dataclass(frozen=True, slots=True)
class Task:
    """One fit in one cut of a set."""

    name: str
    fit: str
    seed: int
    home: str


def measured(task):
    """The numbers of each line of the table that one fit gives."""
    fold = fold_of(SETS[task.name].read(Path(task.home), LEAST_AGE), task.seed)
    unprotected = np.asarray(fold.others.vectors, dtype=np.float64)
    if task.fit == "unprotected":
        same = fold.verifier.rates(unprotected, unprotected)
        lines = {"unprotected": numbers(fold.sides(unprotected), same)}
        sides = [dealt(side, task.seed) for side in fold.sides(unprotected)]
        return lines | {"null": numbers(sides, same)}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(fold.train, "sex", FITS[task.fit])
    about = {"kind": model.protector.kind, "noise": model.protector.noise, "seconds": time.process_time() - start}
    protected = model.protector.set_params(noise_seed=task.seed).transform(unprotected)
    return {task.fit: numbers(fold.sides(protected), fold.verifier.rates(protected, protected)) | about}


def fold_of(data, seed):
    """The first split of people; ages, where they are known, are cut into classes at quantiles of those fitted on."""
    fold = split_people(data, "sex", seed=seed)[0]
    if "age" not in data.attributes:
        return fold
    boundaries = quantile_boundaries(fold.train, "age", DEFAULT_CLASSES)
    return split_people(cut_number(data, "age", boundaries), "sex", seed=seed)[0]


def numbers(sides, rates):
    """What attackers learn from protected vectors, beside rates of verification."""
    by_count = attacks_by_count(*sides, "sex", counts=VECTORS.values())
    attacks = {k: by_count[count] for k, count in VECTORS.items()}
    ages = [set(side.attributes.get("age", ())) for side in sides]
    age = quick_attacks(*sides, "age", ["logistic"])["logistic"] if ages[0] and ages[0] == ages[1] else None
    return {"attacks": attacks, "eer": rates[0], "top1": rates[1], "age": age}


def dealt(side, seed):
    """Embeddings whose people have another's sex."""
    _, first, who = np.unique(side.speakers, return_index=True, return_inverse=True)
    sex = np.random.default_rng(seed).permutation(side.attributes["sex"][first])[who]
    return Embeddings(side.vectors, side.ids, side.speakers, {**side.attributes, "sex": sex})


def strongest(cuts, k):
    """The attacker who learns most on average, and what."""
    averages = {name: np.mean([cut["attacks"][k][name] for cut in cuts]) for name in cuts[0]["attacks"][k]}
    name = max(averages, key=averages.get)
    return name, averages[name]


def mean(cuts, name, scale=1.0, digits=2):
    """The mean of a number over cuts, as a cell."""
    values = [cut[name] for cut in cuts if cut.get(name) is not None]
    return f"{scale * np.mean(values):.{digits}f}" if values else ""


def line(cuts):
    """Cells of one line."""
    kinds = sorted({cut["kind"] for cut in cuts if "kind" in cut})
    disclosed = (f"{strongest(cuts, k)[1]:.3f}" for k in VECTORS)
    rates = (mean(cuts, name, 100.0) for name in ("eer", "top1"))
    return (", ".join(kinds), mean(cuts, "noise"), *disclosed, *rates, mean(cuts, "age"), mean(cuts, "seconds", 1.0, 0))


def save_drawn_people(path, entries, people=75, each=20):
    """Write vectors of people of two sexes that differ in some means and some spreads."""
    rng = np.random.default_rng(0)
    who, scale = np.repeat(np.arange(people), each), 1.0 / np.sqrt(1.0 + np.arange(entries) / 8.0)
    male = who % 2 == 1
    vectors = rng.normal(size=(people, entries))[who] + 0.7 * rng.normal(size=(people * each, entries))
    vectors[:, 10:60] *= np.where(male, 1.3, 1.0)[:, None]
    vectors[:, :6] += 0.8 * male[:, None]
    np.savez(path, vectors=vectors * scale, speaker=who.astype(str), sex=np.where(male, "m", "f"))


def print_times(numbers_of_entries):
    """Print how long the command takes for vectors of each length."""
    print("| entries | kind | noise | seconds | processor seconds |")
    print("| ---: | --- | ---: | ---: | ---: |", flush=True)
    for entries in numbers_of_entries:
        with tempfile.TemporaryDirectory() as folder:
            path, model = Path(folder) / "people.npz", Path(folder) / "model"
            save_drawn_people(path, entries)
            command = [sys.executable, "-m", "zeroevidence", "protect", "fit", path, "--attribute", "sex", "-o", model]
            start, used = time.perf_counter(), processor_seconds_of_children()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds, used = time.perf_counter() - start, processor_seconds_of_children() - used
            protector = load_model(model).protector
        print(f"| {entries} | {protector.kind} | {protector.noise:g} | {seconds:.0f} | {used:.0f} |", flush=True)


def processor_seconds_of_children():
    """Processor time of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_set_options(parser)
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first cut")
    parser.add_argument("--fit", dest="fits", action="append", choices=FITS, help="these alone; may be repeated")
    parser.add_argument("--attackers", action="store_true", help="name the strongest attackers")
    parser.add_argument("--results", type=Path, metavar="FILE.jsonl", help="where results are kept")
    parser.add_argument("--times", metavar="NUMBERS", help="time the command for vectors of so many entries")
    options = parser.parse_args()
    if options.times:
        print_times(map(int, options.times.split(",")))
        return
    names, home, fits = options.sets or list(SETS), str(home_of(options)), options.fits or list(FITS)
    seeds = range(options.first, options.first + options.cuts)
    tasks = [Task(name, one, seed, home) for seed in seeds for name in names for one in fits]
    known = {}
    if options.results is not None and options.results.exists():
        for text in options.results.read_text().splitlines():
            entry = json.loads(text)
            known[Task(**entry["task"])] = entry["lines"]
    left = [task for task in tasks if task not in known]
    for task, lines in zip(left, worked(measured, left, options.workers), strict=True):
        known[task] = lines
        if options.results is not None:
            with options.results.open("a") as file:
                file.write(json.dumps({"task": asdict(task), "lines": lines}) + "\n")
    headings = ("kind", "noise", *(f"k = {k}" for k in VECTORS), "EER [%]", "top-1 [%]", "age", "seconds")
    if options.attackers:
        headings = tuple(f"k = {k}" for k in VECTORS)
    print("| " + " | ".join(("embeddings", "vectors", *headings)) + " |")
    print("| --- | --- | " + " | ".join("---" if options.attackers else "---:" for _ in headings) + " |")
    for name in names:
        cuts = {}
        for one in fits:
            for seed in seeds:
                for title, values in known[Task(name, one, seed, home)].items():
                    cuts.setdefault(title, []).append(values)
        for title, values in cuts.items():
            cells = tuple(strongest(values, k)[0] for k in VECTORS) if options.attackers else line(values)
            print("| " + " | ".join((SETS[name].title, title, *cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
