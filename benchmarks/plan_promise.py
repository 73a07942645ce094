"""Do plans keep their promise? People are drawn from generators that the planner does not know.

    python benchmarks/plan_promise.py --workers 2 --results plan_promise.jsonl
    python benchmarks/plan_promise.py --simulations 20 --planned 4

The planner is asked how many people show a bound with a probability of 80 %. So many people are then drawn from other
generators of the same true value, and evaluated; the table says how often the bound is shown. A plan or a cell that the
file of results has already, of as many simulations, is not computed again, so a run that was stopped goes on.

own           the generator of the planner, all people alike
sessions      embeddings of 24 dimensions: people, two sessions of each, five utterances a session; cosines
lognormal     numbers of recordings are lognormal: half of the people have 83 % of them
halves        half of the people are recognised four times as well as the others; effects of people are Laplacian
families      three people of each family resemble each other; numbers of recordings from 3 to 17
exposed       one person in fifty is recognised in every recording, whatever the others are
talkative     numbers of recordings follow a Pareto law, and whoever speaks more is recognised better

`halves`, `families` and `exposed` were never looked at to choose a constant of the planner.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.needed import one_sided_limits
from zeroevidence.evaluation.plan import PlanOptions, plan
from zeroevidence.evaluation.simulated import Design, shift_of, simulated
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.run import Run

UTTERANCES = 10
LEVEL = 0.95
POPULATION = 200_000
DIMENSIONS = 24
UNSEEN = ("halves", "families", "exposed")


@dataclass(frozen=True)
class Promise:
    """A measure, its true value, and the bound that is to be shown."""

    measure: str
    truth: float
    bound: float

    def is_shown(self, limit: float) -> bool:
        """Whether a limit shows the bound."""
        return limit >= self.bound if MEASURES[self.measure].discloses == "down" else limit <= self.bound


PROMISES = {"d_ece": Promise("d_ece", 0.05, 0.1), "eer": Promise("eer", 0.31, 0.27)}


@dataclass(frozen=True)
class Generator:
    """People whose scores are effects of people, pair, recording and chance, and a shift for mated pairs."""

    effects: Callable[[np.random.Generator, int], np.ndarray]
    factors: Callable[[np.random.Generator, np.ndarray], np.ndarray]  # of people with so many recordings
    counts: Callable[[np.random.Generator, int], np.ndarray]
    family: int = 1

    def people(self, rng, n):
        """Effects of people as enrolled and as heard, the factor of each shift, and the number of recordings."""
        counts = self.counts(rng, n)
        return *(0.4 * self.effects(rng, n) for _ in range(2)), self.factors(rng, counts), counts

    def matrix(self, strength, n, seed):
        """Every recording against everybody."""
        rng = np.random.default_rng(seed)
        enrolled, heard, factors, counts = self.people(rng, n)
        speaker = np.repeat(np.arange(n), counts)
        scores = enrolled + heard[speaker][:, None] + 0.4 * rng.standard_normal((n, n))[speaker]
        scores += 0.4 * rng.standard_normal((len(speaker), 1)) + 0.6 * rng.standard_normal((len(speaker), n))
        shifts = strength * factors
        own, family = shifts[speaker], np.arange(n) // self.family
        scores += np.where(family[speaker][:, None] == family, 0.5 * own[:, None], 0.0) if self.family > 1 else 0.0
        scores[np.arange(len(speaker)), speaker] += 0.5 * own if self.family > 1 else own
        return _named(scores, speaker)

    def population(self, strength, n, seed):
        """Targets and non-targets of many people, weighted by how many recordings they have."""
        rng = np.random.default_rng(seed)
        enrolled, heard, factors, counts = self.people(rng, n)
        recorded = rng.choice(n, n, p=counts / counts.sum())
        within = np.sqrt(0.4**2 + 0.4**2 + 0.6**2)
        target = enrolled[recorded] + heard[recorded] + strength * factors[recorded]
        # Members of a family are so few among all pairs of a population that they do not count.
        nontarget = enrolled[np.roll(recorded, 1)] + heard[recorded]
        return target + within * rng.standard_normal(n), nontarget + within * rng.standard_normal(n)


def _equal(_, n):
    return np.full(n, UTTERANCES)


def _lognormal(rng, n):
    return np.maximum(1, np.round(UTTERANCES * np.exp(0.95 * rng.standard_normal(n) - 0.45))).astype(int)


def _pareto(rng, n):
    return np.minimum(30 * UTTERANCES, np.floor(UTTERANCES / 3 * rng.random(n) ** (-1 / 1.5))).astype(int)


def _same(_, counts):
    return np.ones(len(counts))


def _halves(rng, counts):
    return np.where(rng.random(len(counts)) < 0.5, 1.6, 0.4)


def _exposed(rng, counts):
    return np.where(rng.random(len(counts)) < 0.02, 40.0, 1.0)


def _talkative(rng, counts):
    return 0.3 + 0.8 * np.log(counts / 3.0) + 0.2 * rng.standard_normal(len(counts))


def _normal(rng, n):
    return rng.standard_normal(n)


def _laplacian(rng, n):
    return rng.laplace(size=n) / np.sqrt(2.0)


def _some(rng, n):
    return rng.integers(3, 18, n)


class Sessions:
    """Embeddings of people in two sessions; another recording of either session is enrolled, and cosines compared."""

    def matrix(self, strength, n, seed):
        """Every recording against everybody."""
        rng = np.random.default_rng(seed)
        person = strength * rng.standard_normal((n, DIMENSIONS))
        session = 0.6 * rng.standard_normal((n, 3, DIMENSIONS))
        speaker = np.repeat(np.arange(n), UTTERANCES)
        of_session = np.tile(np.repeat([0, 1], UTTERANCES // 2), n)
        trials = person[speaker] + session[speaker, of_session] + rng.standard_normal((len(speaker), DIMENSIONS))
        enrolled = person + session[:, 2] + rng.standard_normal((n, DIMENSIONS)) / np.sqrt(3.0)
        return _named(_unit(trials) @ _unit(enrolled).T, speaker)

    def population(self, strength, n, seed):
        """Targets and non-targets of many people."""
        rng = np.random.default_rng(seed)
        person = strength * rng.standard_normal((n, DIMENSIONS))
        trials = _unit(person + np.hypot(0.6, 1.0) * rng.standard_normal((n, DIMENSIONS)))
        enrolled = _unit(person + np.sqrt(0.36 + 1.0 / 3.0) * rng.standard_normal((n, DIMENSIONS)))
        return (trials * enrolled).sum(axis=1), (trials * np.roll(enrolled, 1, axis=0)).sum(axis=1)


GENERATORS = {
    "sessions": Sessions(),
    "lognormal": Generator(_normal, _same, _lognormal),
    "halves": Generator(_laplacian, _halves, _equal),
    "families": Generator(_normal, _same, _some, family=3),
    "exposed": Generator(_normal, _exposed, _equal),
    "talkative": Generator(_normal, _talkative, _pareto),
}
DESIGNS = ("own", *GENERATORS)


def _unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _named(scores, speaker):
    names = np.array([f"s{i}" for i in range(scores.shape[1])])
    return ScoreMatrix(scores, speaker, trial_speakers=names[speaker], enrolment_speakers=names)


@lru_cache
def strength_of(design, promise):
    """The strength with which the measure has its true value in the population."""
    if design == "own":
        return shift_of(Design(30, UTTERANCES), promise.measure, promise.truth)

    def excess(strength):
        target, nontarget = GENERATORS[design].population(strength, POPULATION, (1,))
        return MEASURES[promise.measure].compute(ScoreView(rank(target, nontarget))) - promise.truth

    return float(brentq(excess, 0.0, 4.0, xtol=1e-3))


def is_kept(design, promise, people, strength, number):
    """Whether one draw of so many people shows the bound."""
    if design == "own":
        data = simulated(Design(people, UTTERANCES), strength, 1, number)  # the planner's seed is another
    else:
        data = GENERATORS[design].matrix(strength, people, (2, people, number))
    return promise.is_shown(one_sided_limits(data, (promise.measure,), LEVEL)[promise.measure])


def asked(promise, planned, workers):
    """What the planner quotes."""
    answer = plan(
        12,
        leak=promise.truth,
        measure=promise.measure,
        show={promise.measure: promise.bound},
        run=Run(level=LEVEL, cores=workers),
        options=PlanOptions(utterances=UTTERANCES, simulations=planned),
    )
    (requirement,) = answer.requirements
    return asdict(requirement.needed) | {"by_scenario": {k: v.people for k, v in requirement.scenarios.items()}}


class Results:
    """A file of results, which cells are added to as they are done."""

    def __init__(self, path):
        self.path, self.lines = path, {}
        if path is not None and path.exists():
            self.lines = {line["name"]: line for line in map(json.loads, path.read_text().splitlines())}

    def computed(self, name, simulations, compute):
        """The line of a name, from the file where it has as many simulations."""
        if self.lines.get(name, {}).get("simulations", 0) < simulations:
            start = time.perf_counter()
            self.lines[name] = {"name": name, "simulations": simulations, "found": compute()}
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(self.lines[name]) + "\n")
        return self.lines[name]["found"]


def table(results, simulations, planned, workers, designs=DESIGNS):
    """How often each promise was kept, in Markdown."""
    lines = [
        "| promise | people | promised | design | kept | error |",
        "| --- | ---: | ---: | --- | ---: | ---: |",
    ]
    for name, promise in PROMISES.items():
        needed = results.computed(f"plan/{name}", planned, partial(asked, promise, planned, workers))
        people = needed["people"]
        side = "≥" if MEASURES[promise.measure].discloses == "down" else "≤"
        claim = f"{MEASURES[promise.measure].title} {promise.truth:g} {side} {promise.bound:g}"
        if people is None:
            lines.append(f"| {claim} | none | | | | |")
            continue
        for design in designs:

            def kept(design=design, promise=promise, people=people):
                task = partial(is_kept, design, promise, people, strength_of(design, promise))
                with ProcessPoolExecutor(workers) as processes:
                    return float(np.mean(list(processes.map(task, range(simulations), chunksize=4))))

            share = results.computed(f"kept/{name}/{design}/{people}", simulations, kept)
            error = np.sqrt(share * (1.0 - share) / simulations)
            marked = f"{design} *" if design in UNSEEN else design
            shown = "" if needed["shown"] is None else f"{100 * needed['shown']:.0f} %"
            lines.append(f"| {claim} | {people} | {shown} | {marked} | {100 * share:.0f} % | {100 * error:.1f} |")
    return "\n".join([*lines, "", "\\* never used to choose a constant of the planner"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=400, help="draws of each design")
    parser.add_argument("--planned", type=int, default=20, help="simulations of the planner")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--design", action="append", choices=DESIGNS, help="these alone")
    parser.add_argument("--results", type=Path, help="file of results; what it has is not computed again")
    arguments = parser.parse_args()
    results = Results(arguments.results)
    designs = arguments.design or DESIGNS
    print(table(results, arguments.simulations, arguments.planned, arguments.workers, designs))


if __name__ == "__main__":
    main()
