"""Which measures are nearer to the truth after the correction for few people? Simulated people with known truth.

    python benchmarks/estimates.py --simulations 300 --workers 2

People are Gaussian vectors, recordings are noisy copies of them, and scores are cosines. Each design is drawn many
times, and the value of each measure (its definition on the people drawn) and the corrected value are compared with the
value in the population: of pairs, that of a million independent ones; of a search, that of the ranks of many searches
of the same size. A measure has an `estimate` where the correction lessens both the bias and the root of the mean
squared error in every design. The interval of a measure lies around the corrected value either way.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from zeroevidence import Options, Run
from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.measure.search.rank import rank_distribution

DIMENSIONS = 16
POPULATION = 1_000_000
SEARCHES = 2_000  # whose ranks are the truth of a search
CORRECTED = ("d_ece", "cllr_min", "eer_rocch", "dcf_min", "linkability", "mean_rank_disclosure")


@dataclass(frozen=True)
class Design:
    """How many people, and how alike their recordings are.

    Parameters
    ----------
    people
        Number of people.
    noise
        Standard deviation of recordings of one person, in each dimension, beside the 1 of people.
    trials
        Trials of each person.
    nontargets
        Other people that each trial of a list is compared with; 0 for a search through everybody.
    """

    people: int
    noise: float
    trials: int = 10
    nontargets: int = 0


DESIGNS = {
    "few people, weak": Design(20, 2.0),
    "few people, strong": Design(20, 0.7),
    "many people, weak": Design(100, 2.0, trials=5),
    "many people, strong": Design(100, 0.7, trials=5),
    "list, weak": Design(100, 2.0, trials=1, nontargets=5),
    "list, strong": Design(100, 0.7, trials=1, nontargets=5),
}


def _recorded(people, noise, rng):
    """A recording of each person, of length one."""
    vectors = people + noise * rng.standard_normal(people.shape)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def drawn(design, seed):
    """The scores of one sample of people."""
    rng = np.random.default_rng(seed)
    people = rng.standard_normal((design.people, DIMENSIONS))
    speaker = np.repeat(np.arange(design.people), design.trials)
    enrolled, heard = _recorded(people, design.noise, rng), _recorded(people[speaker], design.noise, rng)
    names = np.array([f"s{i:03}" for i in range(design.people)])
    if not design.nontargets:
        return ScoreMatrix(heard @ enrolled.T, speaker, trial_speakers=names[speaker], enrolment_speakers=names)
    steps = np.array([rng.permutation(design.people - 1)[: design.nontargets] + 1 for _ in speaker])
    other = ((speaker[:, None] + steps) % design.people).ravel()
    trial = np.repeat(np.arange(len(speaker)), design.nontargets)
    return Scores(
        (heard * enrolled[speaker]).sum(axis=1),
        (heard[trial] * enrolled[other]).sum(axis=1),
        Pairs(speaker, np.arange(len(speaker))),
        Pairs(other, trial),
        np.char.add("e", names),
        np.char.add("t", np.arange(len(speaker)).astype(str)),
        names,
        names[speaker],
    )


def population(design, seed=1):
    """The measures of a million independent pairs of either kind, and of the ranks of many searches."""
    rng = np.random.default_rng(seed)
    target, nontarget = [], []
    for _ in range(POPULATION // 50_000):
        people = rng.standard_normal((50_000, DIMENSIONS))
        enrolled, heard = _recorded(people, design.noise, rng), _recorded(people, design.noise, rng)
        target.append((enrolled * heard).sum(axis=1))
        nontarget.append((enrolled * np.roll(heard, 1, axis=0)).sum(axis=1))
    view = ScoreView(rank(np.concatenate(target), np.concatenate(nontarget)))
    truth = {name: MEASURES[name].compute(view) for name in CORRECTED if MEASURES[name].family == "one-to-one"}
    if not design.nontargets:
        ranks = np.mean([_ranks(drawn(design, (2, seed, i))) for i in range(SEARCHES)], axis=0)
        used = ranks > 0.0
        truth["mean_rank_disclosure"] = float(ranks[used] @ np.log2(design.people * ranks[used]))
    return truth


def _ranks(data):
    true = data.scores[np.arange(len(data.mated)), data.mated]
    greater = (data.scores > true[:, None]).sum(axis=1)
    return rank_distribution(greater, np.zeros_like(greater), data.scores.shape[1])


def simulated(job):
    """Value, corrected value and limits of each measure, of one sample."""
    design, seed = job
    row = evaluate(drawn(design, (3, seed)), options=Options(null=0), run=Run(seed=seed))
    lines = []
    for name in CORRECTED:
        if name in row.metrics:
            result = row[name]
            limits = [np.nan if limit is None else limit for limit in (result.low, result.high, result.bound)]
            lines.append([float(result), row.replicates.corrected(name, float(result)), *limits])
    return lines


def table(design, simulations, each):
    """A line for each measure of a design: truth, means, errors, and how often interval and bound hold the truth."""
    truth = population(design)
    results = np.array(list(each(simulated, [(design, seed) for seed in range(simulations)])))
    lines = {}
    for place, (name, true) in enumerate(truth.items()):
        value, corrected, low, high, bound = results[:, place].T
        safe = bound <= true if MEASURES[name].discloses == "down" else bound >= true
        lines[name] = {
            "truth": true,
            "value": value.mean(),
            "corrected": corrected.mean(),
            "error of value": np.sqrt(np.mean((value - true) ** 2)),
            "error of corrected": np.sqrt(np.mean((corrected - true) ** 2)),
            "interval": np.mean((low <= true) & (true <= high)),
            "bound": np.mean(safe),
        }
    return lines


def helps(line):
    """Whether the correction lessens bias and error."""
    less_bias = abs(line["corrected"] - line["truth"]) < abs(line["value"] - line["truth"])
    return less_bias and line["error of corrected"] < line["error of value"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--design", choices=DESIGNS, action="append", help="only this one; may be repeated")
    arguments = parser.parse_args()
    helped = {name: [] for name in CORRECTED}
    with ProcessPoolExecutor(arguments.workers) as processes:
        for title in arguments.design or DESIGNS:
            print(f"{title}: {DESIGNS[title].people} people, {arguments.simulations} samples")
            lines = table(DESIGNS[title], arguments.simulations, processes.map)
            columns = list(next(iter(lines.values())))
            print(f"  {'measure':<21}", *(f"{column:>18}" for column in columns), "  helps")
            for name, line in lines.items():
                helped[name].append(helps(line))
                numbers = (f"{line[column]:18.4f}" for column in columns)
                print(f"  {name:<21}", *numbers, "  yes" if helps(line) else "  no", flush=True)
    for name, answers in helped.items():
        print(f"{name}: helps in {sum(answers)} of {len(answers)} designs")


if __name__ == "__main__":
    main()
