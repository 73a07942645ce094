"""Which attackers learn most about people's sex from unprotected and from protected vectors.

    python benchmarks/protect_attackers.py [--data FOLDER] [--set NAME] [--workers 1] [--cuts 3] [--first 100]
                                           [--noise 1]

FOLDER holds `vpc2020_xvectors/`, `audiomnist_*.npz` and `speechocean_*.npz` and is looked for in
`../shared/data/embeddings` beside the project. The people of each sex (of speechocean762 those older than 13) are cut
at random: half fit the protector, `transport` with noise, a quarter trains attackers on protected vectors, a quarter is
tested. Attackers are all classifiers of single vectors that are registered, with their usual settings. The table has
the mean D_ECE over cuts, the largest in bold, and in `wins` how many cuts each attacker won that won any.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from protect_sets import SETS, add_set_options, cut_people, home_of, worked

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.protect import Transport
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.quick_attackers import quick_attacks

LEAST_AGE = 14


@dataclass(frozen=True, slots=True)
class Cut:
    """One cut of a set, and the noise of the protector."""

    name: str
    seed: int
    home: Path
    noise: float


def attackers():
    """Names of the classifiers of single vectors."""
    return [kind.name for kind in CLASSIFIERS.values() if kind.learns_from == "vectors"]


def measured(cut):
    """D_ECE by attacker, for unprotected and for protected vectors."""
    people = cut_people(SETS[cut.name].read(cut.home, LEAST_AGE), cut.seed)
    fold, train = people.fold, people.fold.train
    vectors = np.asarray(fold.others.vectors, dtype=np.float64)
    protector = Transport(noise=cut.noise, noise_seed=cut.seed)
    protector.fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
    systems = {
        UNPROTECTED: vectors,
        f"transport, noise {cut.noise:g}": protector.transform(vectors, speakers=fold.others.speakers),
    }
    return {title: quick_attacks(*people.sides(rows), "sex", attackers()) for title, rows in systems.items()}


def line(cuts):
    """Cells of the attackers, and how many cuts each won."""
    means = {name: np.mean([cut[name] for cut in cuts]) for name in cuts[0]}
    most = max(means.values())
    wins = Counter(max(cut, key=cut.get) for cut in cuts)
    cells = [f"**{value:.3f}**" if value == most else f"{value:.3f}" for value in means.values()]
    return [*cells, ", ".join(f"{name} {count}" for name, count in wins.most_common())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_set_options(parser)
    parser.add_argument("--cuts", type=int, default=3)
    parser.add_argument("--first", type=int, default=100, help="seed of the first cut")
    parser.add_argument("--noise", type=float, default=1.0, help="level of the protector's noise")
    options = parser.parse_args()
    names, home = options.sets or list(SETS), home_of(options)
    seeds = range(options.first, options.first + options.cuts)
    headings = ("embeddings", "vectors", *attackers(), "wins")
    print("| " + " | ".join(headings) + " |")
    print("| --- | --- | " + "---: | " * len(attackers()) + "--- |", flush=True)
    done = iter(
        worked(measured, [Cut(name, seed, home, options.noise) for name in names for seed in seeds], options.workers)
    )
    for name in names:
        cuts = [next(done) for _ in seeds]
        for title in cuts[0]:
            print("| " + " | ".join((SETS[name].title, title, *line([cut[title] for cut in cuts]))) + " |", flush=True)


if __name__ == "__main__":
    main()
