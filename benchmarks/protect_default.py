"""What attackers with one or several vectors of a person learn about sex after the default protector, and its time.

    python benchmarks/protect_default.py [--data FOLDER] [--set NAME] [--workers 1] [--cuts 10] [--first 100]
                                         [--protection NAME] [--results FILE.jsonl]

FOLDER holds `audiomnist_*.npz`, `speechocean_*.npz` and `vpc2020_xvectors/` and is looked for in
`../shared/data/embeddings` beside the project. The people of each sex (of speechocean762 those older than 13) are cut
at random: half are given to `zeroevidence.protect.fit`, which chooses by cross-validation among them alone, a quarter
trains attackers on protected vectors, a quarter is tested. So the people of the table chose nothing. In each cut the
strongest quick attacker counts who has k vectors of a person at once, which is in the attackers' favour. `null` deals
sex to people at random, in unprotected vectors. `EER` and `top-1` are of people enrolled in one release and compared in
another, each with its own noise; `one release` is the EER where both are in the same. `age` is the correlation of
guesses of age with the truth, where ages are known. `seconds` is processor time of the fit.

Results are appended to FILE.jsonl, and what is there already is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from protect_sets import SETS, add_set_options, home_of, worked

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.protect import fit
from zeroevidence.protect.assessment.systems import protect
from zeroevidence.protect.assessment.verification import Verifier
from zeroevidence.protect.tradeoff.folds import PARTS
from zeroevidence.protect.tradeoff.kept import kept_evidence, other_attributes
from zeroevidence.protect.tradeoff.quick_attackers import quick_attacks
from zeroevidence.protect.tradeoff.strengths import cross_validation_roles

LEAST_AGE = 14
VECTORS = {"1": 1, "3": 3, "10": 10, "all": None}
# Arguments of `fit` by the name of the line; None for no protection.
PROTECTIONS = {
    "unprotected": None,
    "null": None,
    "flow, no noise": {"kind": "flow"},
    "transport, noise for vectors": {
        "kind": "transport",
        "parameters": {"noise_for": "vectors"},
        "limit": "eer=+1%",
    },
    "default": {},
}


@dataclass(frozen=True, slots=True)
class Task:
    """One protection in one cut of a set."""

    name: str
    protection: str
    seed: int
    home: str


def measured(task):
    """Numbers of one protection in one cut."""
    roles = next(cross_validation_roles(SETS[task.name].read(Path(task.home), LEAST_AGE), "sex", seed=task.seed))
    settings, start, model = PROTECTIONS[task.protection], time.process_time(), None
    if settings is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(roles.train, "sex", **settings)
    seconds = time.process_time() - start
    protector = None if model is None else model.protector.set_params(noise_seed=task.seed)
    sides = [roles.attack, roles.test]
    if task.protection == "null":
        sides = [dealt(side, task.seed) for side in sides]
    first, second = ([protect(side, protector, release) for side in sides] for release in range(2))
    verifier = Verifier.of(roles.train, joined(sides))
    one, other = (np.asarray(Verifier.of(roles.train, joined(release)).people.vectors) for release in (first, second))
    (eer, top1), (same, _) = verifier.rates(one, other), verifier.rates(one, one)
    attacks = {k: quick_attacks(*first, "sex", vectors=count) for k, count in VECTORS.items()}
    ages = [one for one in other_attributes(joined(sides), "sex", PARTS // 2) if one[0] == "age"]
    return {
        "kind": None if protector is None else protector.kind,
        "noise": 0.0 if protector is None else protector.noise,
        "attacks": attacks,
        "eer": eer,
        "same": same,
        "top1": top1,
        "age": kept_evidence(*first, *ages[0]) if ages else None,
        "seconds": seconds,
    }


def joined(sides):
    """Embeddings of all sides."""
    parts = [np.concatenate([getattr(side, of) for side in sides]) for of in ("vectors", "ids", "speakers")]
    attributes = {name: np.concatenate([side.attributes[name] for side in sides]) for name in sides[0].attributes}
    return Embeddings(*parts, attributes)


def dealt(side, seed):
    """Embeddings whose people have another's sex."""
    _, first, who = np.unique(side.speakers, return_index=True, return_inverse=True)
    sex = np.random.default_rng(seed).permutation(side.attributes["sex"][first])[who]
    return Embeddings(side.vectors, side.ids, side.speakers, {**side.attributes, "sex": sex})


def line(title, protection, results):
    """One line of the table."""
    kinds = sorted({str(one["kind"]) for one in results} - {"None"})
    noises = [one["noise"] for one in results]
    disclosed = [np.mean([max(one["attacks"][k].values()) for one in results]) for k in VECTORS]
    rates = [100.0 * np.mean([one[of] for one in results]) for of in ("eer", "same", "top1")]
    ages = [one["age"] for one in results if one["age"] is not None]
    cells = (
        ", ".join(kinds),
        f"{min(noises):g} to {max(noises):g}",
        *(f"{value:.3f}" for value in disclosed),
        *(f"{rate:.2f}" for rate in rates),
        f"{np.mean(ages):.2f}" if ages else "",
        f"{np.mean([one['seconds'] for one in results]):.0f}",
    )
    return "| " + " | ".join((title, protection, *cells)) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_set_options(parser)
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first cut")
    parser.add_argument("--protection", action="append", choices=PROTECTIONS, help="these alone; may be repeated")
    parser.add_argument("--results", type=Path, metavar="FILE.jsonl", help="where results are kept")
    options = parser.parse_args()
    names, home = options.sets or list(SETS), str(home_of(options))
    protections = options.protection or list(PROTECTIONS)
    seeds = range(options.first, options.first + options.cuts)
    tasks = [Task(name, protection, seed, home) for seed in seeds for name in names for protection in protections]
    known = {}
    if options.results is not None and options.results.exists():
        for text in options.results.read_text().splitlines():
            entry = json.loads(text)
            known[Task(**entry["task"])] = entry["result"]
    left = [task for task in tasks if task not in known]
    for task, result in zip(left, worked(measured, left, options.workers), strict=True):
        known[task] = result
        if options.results is not None:
            with options.results.open("a") as file:
                file.write(json.dumps({"task": asdict(task), "result": result}) + "\n")
    headings = [f"k = {k}" for k in VECTORS]
    more = ("EER [%]", "one release [%]", "top-1 [%]", "age", "seconds")
    print("| " + " | ".join(("embeddings", "protection", "kind", "noise", *headings, *more)) + " |")
    print("| --- | --- | --- | ---: |" + " ---: |" * (len(headings) + len(more)))
    for name in names:
        for protection in protections:
            results = [known[Task(name, protection, seed, home)] for seed in seeds]
            print(line(SETS[name].title, protection, results))


if __name__ == "__main__":
    main()
