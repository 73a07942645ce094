"""What the strongest attacker learns about people's sex within a budget of verification, by protector.

    python benchmarks/protect_front.py [--data FOLDER] [--set NAME] [--workers 1] [--budget eer=+1%] [--cuts 10]
                                       [--protector NAME] [--assess]

FOLDER holds `vpc2020_xvectors/`, `audiomnist_*.npz` and `speechocean_*.npz` and is looked for in
`../shared/data/embeddings` beside the project. The people of each sex (of speechocean762 those older than 13) are cut
at random: half fit the protector, a quarter trains attackers on protected vectors, a quarter is tested. The strength of
each protector is chosen on three cuts, as the one with the least D_ECE within the budget; the table is from other cuts,
at that strength. In each cut the strongest of three attackers counts (logistic, quadratic with shrunk covariances,
kernel), chosen on the test people, which is in the attacker's favour; with --assess, the first of all that `protect
evaluate` has. `people` is the same for attackers who see the mean of all vectors of a person. `null` deals sex to
people at random.

Workers share the cuts; their number changes no result.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from protect_sets import SETS, add_set_options, home_of, worked

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation import Options
from zeroevidence.protect import AttackOptions, Roles, assess
from zeroevidence.protect.assessment.rows import protect
from zeroevidence.protect.assessment.verification import verification
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.choice import split_people
from zeroevidence.protect.quick_attackers import quick_attacks
from zeroevidence.protect.strengths import Limit, Tradeoff, fit_at_strengths
from zeroevidence.run import Run

STRENGTHS = (0.0, 0.4, 0.7, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
# Kind of protector, and parameters.
VARIANTS = {"flow, own covariances": ("flow", {"covariances": "classes"})}
LEFT_OUT = ("adversarial",)  # slow, and far behind in every table
LEAST_AGE = 14
CHOOSING = range(3)  # seeds of the cuts that choose strengths
THREE = ("logistic", "qda", "kernel")


@dataclass(frozen=True, slots=True)
class Task:
    """A protector at some strengths in one cut of a set; the numbers of each strength are wanted."""

    name: str
    seed: int
    home: Path
    protector: str = UNPROTECTED
    strengths: tuple[float, ...] = (0.0,)
    full: bool = False  # all attackers of `protect evaluate`

    def roles(self):
        """Who is used for what."""
        fold = split_people(SETS[self.name].read(self.home, LEAST_AGE), "sex", seed=self.seed)[0]
        return Roles(fold.train, *fold.sides(np.asarray(fold.others.vectors)))

    def fitted(self, train):
        """The protector at each strength; None for unprotected vectors."""
        if self.protector == UNPROTECTED:
            return {0.0: None}
        kind, parameters = VARIANTS.get(self.protector, (self.protector, {}))
        settings = {"seed": self.seed, "strengths": self.strengths, "parameters": parameters}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit_at_strengths(kind, train, "sex", **settings)


@dataclass(frozen=True, slots=True)
class Numbers:
    """What attackers learn from vectors and from people's means, and how well people are told apart."""

    d_ece: float
    people: float
    eer: float
    top1: float


def of_people(data):
    """The mean vector of each person."""
    names, first = np.unique(data.speakers, return_index=True)
    means = np.stack([data.vectors[data.speakers == name].mean(axis=0) for name in names])
    return Embeddings(means, names, names, {"sex": data.attributes["sex"][first]})


def measured(task):
    """The numbers of each strength, in their order."""
    roles = task.roles()
    return [numbers(roles, protector, task) for protector in task.fitted(roles.train).values()]


def numbers(roles, protector, task):
    """Those of one protector."""
    sides = {name: protect(getattr(roles, name), protector) for name in ("attack", "test")}
    verified = verification(roles.train, sides, {}, Options(intervals=0, null=0), Run())
    most = max(quick_attacks(*sides.values(), "sex", THREE).values())
    people = max(quick_attacks(*map(of_people, sides.values()), "sex", THREE).values())
    if task.full:
        fitted = {} if protector is None else {task.protector: protector}
        rows = assess(
            fitted, roles, "sex", AttackOptions(verification=False, map_method="none"), Options(intervals=0, null=0)
        )
        most = next(float(row["d_ece"]) for row in rows if row.labels["system"] == task.protector)
    return Numbers(most, people, float(verified["eer"]), float(verified["top1"]))


def under_null(task):
    """D_ECE of the strongest quick attacker when sex is dealt to people at random, on unprotected vectors."""
    rng = np.random.default_rng(task.seed)
    roles, dealt = task.roles(), []
    for side in (roles.attack, roles.test):
        _, first, who = np.unique(side.speakers, return_index=True, return_inverse=True)
        sex = rng.permutation(side.attributes["sex"][first])[who]
        dealt.append(Embeddings(side.vectors, side.ids, side.speakers, {"sex": sex}))
    return max(quick_attacks(*dealt, "sex", THREE).values())


def chosen_strengths(names, protectors, limit, home, workers):
    """For each set and protector the strength within the budget, on cuts of their own; None where there is none."""
    tasks = [Task(name, seed, home) for name in names for seed in CHOOSING]
    tasks += [replace(task, protector=one, strengths=STRENGTHS) for task in tasks for one in protectors]
    by_setting = {}
    for task, values in zip(tasks, worked(measured, tasks, workers), strict=True):
        for strength, one in zip(task.strengths, values, strict=True):
            by_setting.setdefault((task.name, task.protector, strength), []).append(one)
    chosen = {}
    for name in names:
        points = [Tradeoff(*key[1:], *means(values)) for key, values in by_setting.items() if key[0] == name]
        most = limit.bound(next(point for point in points if point.protector == UNPROTECTED))
        for protector in protectors:
            within = [point for point in points if point.protector == protector and point.eer <= most]
            best = min(within, key=lambda point: (point.d_ece, point.eer), default=None)
            chosen[name, protector] = None if best is None else best.strength
    return chosen


def nulls(names, home, seeds, workers):
    """Mean of `under_null` for each set."""
    tasks = [Task(name, seed, home) for name in names for seed in seeds]
    found = iter(worked(under_null, tasks, workers))
    return {name: np.mean([next(found) for _ in seeds]) for name in names}


def means(values):
    """Means over cuts of the numbers of one strength."""
    return [float(np.mean([getattr(one, field) for one in values])) for field in Numbers.__slots__]


def budget_table(names, options, seeds, home):
    """Protectors at the strengths within the budget."""
    protectors = options.protector or [
        *(name for name in ATTRIBUTE_PROTECTORS if name not in LEFT_OUT),
        *VARIANTS,
    ]
    limit = Limit.parse(options.budget)
    print("| embeddings | protector | noise | D_ECE | null | people | EER [%] | top-1 [%] |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    chosen = chosen_strengths(names, protectors, limit, home, options.workers)
    lines = [
        Task(name, 0, home, one, (strength,), options.assess)
        for name in names
        for one, strength in (
            (UNPROTECTED, 0.0),
            *((one, 0.0) for one in protectors if one in ("flow", *VARIANTS)),
            *((one, chosen[name, one]) for one in protectors if chosen[name, one] is not None),
        )
    ]
    null = nulls(names, home, seeds, options.workers)
    done = iter(worked(measured, [replace(one, seed=seed) for one in lines for seed in seeds], options.workers))
    for task in lines:
        disclosed, people, eer, top1 = means([one for _ in seeds for one in next(done)])
        cells = (
            f"{task.strengths[0]:g}",
            f"{disclosed:.3f}",
            f"{null[task.name]:.3f}",
            f"{people:.3f}",
            f"{100 * eer:.2f}",
        )
        titles = (SETS[task.name].title, task.protector)
        print("| " + " | ".join((*titles, *cells, f"{100 * top1:.1f}")) + " |", flush=True)
    for (name, one), strength in chosen.items():
        if strength is None:
            print(f"| {SETS[name].title} | {one} | none within {limit} | | | | | |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_set_options(parser)
    parser.add_argument("--budget", default="eer=+1%")
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first cut that is reported")
    parser.add_argument("--protector", action="append", help="this one alone; may be repeated")
    parser.add_argument("--assess", action="store_true", help="attack with all classifiers of `protect evaluate`")
    options = parser.parse_args()
    names = options.sets or list(SETS)
    seeds = range(options.first, options.first + options.cuts)
    budget_table(names, options, seeds, home_of(options))


if __name__ == "__main__":
    main()
