"""What the strongest attacker learns about adults' sex within a budget of verification, by protector.

    python benchmarks/protect_front.py [--data FOLDER] [--budget eer=+1%] [--only ecapa] [--assess]

FOLDER holds `speechocean_{ecapa,campplus}.npz` and is looked for in `../shared/data/embeddings` beside the project. The
adults (older than 13) of each sex are cut at random: half fit the protector, a quarter trains attackers on protected
vectors, a quarter is tested. The strength of each protector is chosen on three cuts, as the one with the least D_ECE
within the budget; the table is from other cuts, at that strength. In each cut the strongest of three attackers counts
(logistic, quadratic with shrunk covariances, kernel), chosen on the test people, which is in the attacker's favour;
with --assess, the first of all that `protect evaluate` has. `people` is the same for attackers who see the mean of all
vectors of a person. `null` deals sex to people at random.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation import Options
from zeroevidence.protect import assess
from zeroevidence.protect.attributes import kinds
from zeroevidence.protect.quick import quick_attacks
from zeroevidence.protect.tradeoff import Limit, Tradeoff, at_strengths, choose, cuts, measured_at

STRENGTHS = (0.0, 0.4, 0.7, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
LEFT_OUT = ("adversarial",)  # slow, and far behind in every table


def adults(path):
    """Embeddings of people older than 13."""
    stored = np.load(path)
    old = stored["age"] > 13
    return Embeddings(
        stored["vectors"][old], stored["utterance"][old], stored["speaker"][old], {"sex": stored["sex"][old]}
    )


def of_people(data):
    """The mean vector of each person."""
    names, first = np.unique(data.speakers, return_index=True)
    means = np.stack([data.vectors[data.speakers == name].mean(axis=0) for name in names])
    return Embeddings(means, names, names, {"sex": data.attributes["sex"][first]})


def protected(data, protector):
    """Embeddings through a protector, if there is one."""
    x = np.asarray(data.vectors, dtype=np.float64)
    return Embeddings(x if protector is None else protector.transform(x), data.ids, data.speakers, data.attributes)


def person_level(roles, protector):
    """D_ECE of the strongest quick attacker on people's means."""
    attack, test = (of_people(protected(side, protector)) for side in (roles.attack, roles.test))
    return max(quick_attacks(attack, test, "sex").values())


def under_null(roles, seed):
    """D_ECE of the strongest quick attacker when sex is dealt to people at random, on unprotected vectors."""
    rng = np.random.default_rng(seed)
    dealt = []
    for side in (roles.attack, roles.test):
        _, first, who = np.unique(side.speakers, return_index=True, return_inverse=True)
        sex = rng.permutation(side.attributes["sex"][first])[who]
        dealt.append(Embeddings(side.vectors, side.ids, side.speakers, {"sex": sex}))
    return max(quick_attacks(*dealt, "sex").values())


def points(roles, names, seed):
    """Every protector at every strength in one cut: (D_ECE, EER, top-1) by name and strength."""
    systems = {(UNPROTECTED, 0.0): None}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = at_strengths(name, roles.train, "sex", seed=seed, strengths=STRENGTHS)
        systems |= {(name, strength): one for strength, one in made.items()}
    found = {}
    for key, protector in systems.items():
        told, verified = measured_at(roles, "sex", protector)
        found[key] = (max(told.values()), float(verified["eer"]), float(verified["top1"]))
    return found


def chosen_strengths(data, names, limit, seeds):
    """The strength of each protector within the budget, on cuts of their own; None where there is none."""
    found = {}
    for seed in seeds:
        for key, numbers in points(next(cuts(data, "sex", seed=seed)), names, seed).items():
            found.setdefault(key, []).append(numbers)
    every = [Tradeoff(*key, *zip(*values, strict=True)) for key, values in found.items()]
    chosen = {}
    for name in names:
        try:
            own = [one for one in every if one.protector in (UNPROTECTED, name)]
            chosen[name] = choose(own, limit).strength
        except ValueError:
            chosen[name] = None
    return chosen


def measured(roles, name, strength, seed, full):
    """D_ECE, on people's means, EER and top-1 of one protector in one cut."""
    protector = None
    if name != UNPROTECTED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            protector = at_strengths(name, roles.train, "sex", seed=seed, strengths=[strength])[strength]
    told, verified = measured_at(roles, "sex", protector)
    most = max(told.values())
    if full:
        given = {} if protector is None else {name: protector}
        rows = assess(given, roles, "sex", mapped="none", verification=False, options=Options(intervals=0, null=0))
        most = next(float(row["d_ece"]) for row in rows if row.labels["system"] == name)
    return most, person_level(roles, protector), float(verified["eer"]), float(verified["top1"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--budget", default="eer=+1%")
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first cut that is reported")
    parser.add_argument("--only", default="", help="embeddings whose name has this in it")
    parser.add_argument("--protector", action="append", help="this one alone; may be repeated")
    parser.add_argument("--assess", action="store_true", help="attack with all classifiers of `protect evaluate`")
    options = parser.parse_args()
    home = options.data or Path(__file__).resolve().parents[2] / "shared" / "data" / "embeddings"
    if not home.is_dir():
        sys.exit(f"{home}: no such folder; name the one that holds the embeddings")
    limit = Limit.parse(options.budget)
    names = options.protector or [kind.name for kind in kinds() if kind.name not in LEFT_OUT]
    print("| embeddings | protector | noise | D_ECE | null | people | EER [%] | top-1 [%] |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for encoder, title in (("ecapa", "ECAPA"), ("campplus", "CAM++")):
        if options.only not in encoder:
            continue
        data = adults(home / f"speechocean_{encoder}.npz")
        strengths = chosen_strengths(data, names, limit, range(3))
        systems = [(UNPROTECTED, 0.0), *((("flow", 0.0),) if "flow" in names else ()), *strengths.items()]
        seeds = range(options.first, options.first + options.cuts)
        null = np.mean([under_null(next(cuts(data, "sex", seed=seed)), seed) for seed in seeds])
        for name, strength in systems:
            if strength is None:
                print(f"| {title} | {name} | none within {limit} | | | | | |", flush=True)
                continue
            found = [
                measured(next(cuts(data, "sex", seed=seed)), name, strength, seed, options.assess) for seed in seeds
            ]
            told, people, eer, top1 = np.mean(found, axis=0)
            cells = (f"{strength:g}", f"{told:.3f}", f"{null:.3f}", f"{people:.3f}", f"{100 * eer:.2f}")
            print("| " + " | ".join((title, name, *cells, f"{100 * top1:.1f}")) + " |", flush=True)


if __name__ == "__main__":
    main()
