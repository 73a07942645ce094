"""What attackers learn about people's sex from protected embeddings, and how well people are still told apart.

    python benchmarks/protect_front.py default [--budget eer=+1%] [--attacker-people 18]
    python benchmarks/protect_front.py front [--protector NAME] [--figure FILE.svg]
    python benchmarks/protect_front.py times [--entries 192,512]

The first two take [--data FOLDER] [--set NAME] [--workers 1] [--cuts 10] [--first 100]. FOLDER holds
`audiomnist_*.npz`, `speechocean_*.npz` and `vpc2020_xvectors/` and is looked for in `../shared/data/embeddings` beside
the project. The people of each sex (of speechocean762 those older than 13) are cut at random: half fit the protector, a
quarter trains attackers on protected vectors, a quarter is tested. The largest D_ECE of logistic regression, a kernel
machine and a quadratic discriminant counts, on `one` vector or on the mean of all vectors of a `person`, chosen on the
test people, which is in the attacker's favour; `null` deals sex to people at random. Verification is that of a PLDA
which was trained on unprotected vectors of the people fitted on, of vectors protected in one release, and of enrolment
and trials protected in two.

`default` gives the first half to `zeroevidence.protect.fit`, which chooses by cross-validation among these people
alone. `promised` is what it expects of an attacker of --attacker-people people, and its limit. `front` fits each
protector and goes through levels of noise. `times` runs `zeroevidence protect fit` as a process of its own, with its
defaults, on 1500 vectors of 75 people that are drawn at random, of so many entries.

Workers share the cuts; their number changes no result.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from protect_sets import SETS, add_set_options, cut_people, home_of, worked

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.protect import FitOptions, fit, load_model
from zeroevidence.protect.assessment.class_learning import ClassSample
from zeroevidence.protect.quick_attackers import quick_attacks
from zeroevidence.protect.strengths import fit_at_strengths, quick_protectors
from zeroevidence.run import Run

LEAST_AGE = 14
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
THREE = ("logistic", "qda", "kernel")
MEASURED = ("one", "person", "EER", "EER, two releases", "top-1", "top-1, two releases")


@dataclass(frozen=True, slots=True)
class Task:
    """One cut of a set, and what protects it: `default` with its options, a protector, or nothing."""

    name: str
    seed: int
    home: Path
    system: str
    options: FitOptions


def measured(task):
    """Lines of numbers by their title, of one cut."""
    cut = cut_people(SETS[task.name].read(task.home, LEAST_AGE), task.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if task.system == "unprotected":
            dealt = [deal(side, task.seed) for side in (cut.attack, cut.test)]
            null = (*disclosed(dealt), *4 * [np.nan])
            return {"unprotected": numbers(cut, None), "null": null}
        if task.system == "default":
            start = time.process_time()
            model = fit(cut.fold.train, "sex", task.options, Run(cores=1))
            seconds, chosen = time.process_time() - start, model.choice.chosen
            model.protector.set_params(noise_seed=task.seed)
            promised = (chosen.d_ece, chosen.d_ece_bound, chosen.person_d_ece, chosen.person_d_ece_bound)
            title = f"default, {model.choice.limit}"
            return {title: (*numbers(cut, model.protector), model.protector.noise, *promised, seconds)}
        protectors = fit_at_strengths(task.system, cut.fold.train, "sex", seed=task.seed, strengths=LEVELS)
        return {f"{task.system}, {level:g}": numbers(cut, protector) for level, protector in protectors.items()}


def numbers(cut, protector):
    """What attackers learn, EERs and shares of people that a search finds."""
    vectors = np.stack([cut.fold.others.vectors] * 2) if protector is None else cut.fold.release(protector)
    (eer, top1), (eer_apart, top1_apart) = (cut.fold.verifier.rates(each, each) for each in vectors)
    return (*disclosed(cut.sides(vectors[0])), eer, eer_apart, top1, top1_apart)


def disclosed(sides):
    """The largest D_ECE of the three attackers, on one vector and on the mean of a person."""
    return tuple(max(quick_attacks(*pair, "sex", THREE).values()) for pair in (sides, list(map(means, sides))))


def means(data):
    """The mean vector of each person."""
    names, first, person = np.unique(data.speakers, return_index=True, return_inverse=True)
    vectors = ClassSample(np.asarray(data.vectors), np.zeros_like(person), person).means().x
    return Embeddings(vectors, names, names, {"sex": data.attributes["sex"][first]})


def deal(side, seed):
    """Embeddings whose people have another's sex."""
    _, first, who = np.unique(side.speakers, return_index=True, return_inverse=True)
    sex = np.random.default_rng(seed).permutation(side.attributes["sex"][first])[who]
    return Embeddings(side.vectors, side.ids, side.speakers, {**side.attributes, "sex": sex})


def print_lines(tasks, workers, headings):
    """Print the mean of each line over the cuts, and return it by set and title."""
    print("| " + " | ".join(("embeddings", "vectors", *headings)) + " |")
    print("| --- | --- | " + " | ".join("---:" for _ in headings) + " |", flush=True)
    lines = {}
    for task, cuts in zip(tasks, worked(measured, tasks, workers), strict=True):
        for title, values in cuts.items():
            lines.setdefault((task.name, title), []).append(values)
    lines = {key: np.mean(values, axis=0) for key, values in lines.items()}
    for (name, title), values in lines.items():
        rates = [f"{100 * value:.2f}" if value == value else "" for value in values[2:6]]
        cells = [*(f"{value:.3f}" for value in values[:2]), *rates, *(f"{value:.2f}" for value in values[6:])]
        print("| " + " | ".join((SETS[name].title, title, *cells, *[""] * (len(headings) - len(cells)))) + " |")
    return lines


def draw(lines, path):
    """Draw D_ECE over the larger EER, single vectors and people beside each other."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _ in lines))
    figure = Figure(figsize=(8.0, 3.2 * len(names)), layout="constrained")
    for row, name in enumerate(names):
        for column, judged in enumerate(("one vector", "all vectors of a person")):
            axes = figure.add_subplot(len(names), 2, 2 * row + column + 1)
            for system in dict.fromkeys(title.split(",")[0] for of, title in lines if of == name):
                points = [
                    values for (of, title), values in lines.items() if (of, title.split(",")[0]) == (name, system)
                ]
                if system == "null":
                    axes.axhline(points[0][column], color="0.6", linestyle=":", label="null")
                else:
                    eers = [100 * max(values[2:4]) for values in points]
                    axes.plot(eers, [values[column] for values in points], marker="o", label=system)
            axes.set(xlabel="EER (%), the larger of one and two releases", ylabel="D_ECE", ylim=(0.0, 0.75))
            axes.set_title(f"{SETS[name].title}: {judged}", fontsize=9)
            axes.legend(fontsize=8)
    figure.savefig(path)


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
    parser.add_argument("what", choices=("default", "front", "times"))
    add_set_options(parser)
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first cut")
    parser.add_argument("--budget", action="append", help="of the default; may be repeated")
    parser.add_argument("--attacker-people", type=int, default=18)
    parser.add_argument("--protector", action="append", help="this one alone; may be repeated")
    parser.add_argument("--figure", type=Path, metavar="FILE.svg")
    parser.add_argument("--entries", default="192,512")
    options = parser.parse_args()
    if options.what == "times":
        print_times(map(int, options.entries.split(",")))
        return
    systems = [("unprotected", FitOptions())]
    headings = MEASURED
    if options.what == "default":
        budgets = options.budget or ["eer=+1%", "eer=+5%"]
        systems += [("default", FitOptions(limit=each, attacker_people=options.attacker_people)) for each in budgets]
        headings += ("noise", "promised, one", "limit", "promised, person", "limit", "seconds")
    else:
        systems += [(name, FitOptions()) for name in options.protector or quick_protectors()]
    seeds, home = range(options.first, options.first + options.cuts), home_of(options)
    names = options.sets or ["adults-ecapa", "adults-campplus"]
    tasks = [Task(name, seed, home, *system) for name in names for system in systems for seed in seeds]
    lines = print_lines(tasks, options.workers, headings)
    if options.figure is not None:
        draw(lines, options.figure)


if __name__ == "__main__":
    main()
