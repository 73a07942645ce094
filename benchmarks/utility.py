"""Do intervals of utility hold, and those of several trainings?

Made-up people are understood differently well by a made-up recogniser, and a made-up classifier hears their emotions
differently well. Made-up trainings of two systems that are the same differ by people, by trainings, and by both.

    python benchmarks/utility.py --simulations 1000
"""

from __future__ import annotations

import argparse

import numpy as np

from zeroevidence.evaluation.utility import evaluate_classes, evaluate_transcripts
from zeroevidence.uncertainty.compare import TrainingRuns, training_spread

_RATES = {"alike": 0.02, "different": 0.1}  # deviation of the error rate between people
_SPREADS = {"people": (1.0, 0.1), "both": (0.5, 0.3), "trainings": (0.1, 1.0)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--simulations", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    rng = np.random.default_rng(options.seed)
    print("| people | they are | WER | UAR |\n| ---: | --- | ---: | ---: |")
    for people in (10, 20, 40):
        for title, deviation in _RATES.items():
            coverage = [_utility(rng, people, deviation) for _ in range(options.simulations)]
            wer, uar = (100 * np.mean(shares) for shares in zip(*coverage, strict=True))
            print(f"| {people} | {title} | {wer:.0f} | {uar:.0f} |")
    print("\n| trainings | people | mostly from | difference | people alone |\n| ---: | ---: | --- | ---: | ---: |")
    for trainings in (2, 3, 5):
        for people in (10, 40):
            for title, (of_people, of_trainings) in _SPREADS.items():
                both, alone = np.mean(
                    [_runs(rng, trainings, people, of_people, of_trainings) for _ in range(options.simulations)], axis=0
                )
                print(f"| {trainings} | {people} | {title} | {100 * both:.0f} | {100 * alone:.0f} |")


def _rates(rng: np.random.Generator, number: int, deviation: float) -> np.ndarray:
    """Beta distributed, so that their mean is known."""
    size = 0.2 * 0.8 / deviation**2 - 1.0
    return rng.beta(0.2 * size, 0.8 * size, number)


def _utility(rng: np.random.Generator, people: int, deviation: float) -> tuple[bool, bool]:
    """Whether the intervals of the word error rate and of the recall hold the mean over all people."""
    transcripts, heard, speakers, truth, recognised = {}, {}, {}, {}, {}
    for person, rate in enumerate(_rates(rng, people, deviation)):
        for number in range(6):
            name = f"s{person}-{number}"
            wrong = rng.random(8) < rate
            transcripts[name] = " ".join(f"w{n}" for n in range(8))
            heard[name] = " ".join(f"x{n}" if wrong[n] else f"w{n}" for n in range(8))
            truth[name] = ("sad", "angry")[number % 2]
            recognised[name] = "other" if rng.random() < rate else truth[name]
            speakers[name] = f"s{person}"
    wer = evaluate_transcripts(transcripts, heard, speakers=speakers)["wer"]
    uar = evaluate_classes(truth, recognised, speakers=speakers)[0]["uar"]
    assert wer.low is not None
    assert wer.high is not None
    assert uar.low is not None
    assert uar.high is not None
    return wer.low <= 0.2 <= wer.high, uar.low <= 0.8 <= uar.high


def _runs(
    rng: np.random.Generator, trainings: int, people: int, of_people: float, of_trainings: float
) -> tuple[bool, bool]:
    """Whether limits of the difference hold zero: with both spreads, and with that of people alone."""
    systems = []
    for _ in range(2):
        values = (
            rng.normal(0.0, of_people, people)
            + rng.normal(0.0, of_trainings, (trainings, 1))
            + rng.normal(0.0, 0.2, (trainings, people))
        )
        without = (values.sum(axis=1, keepdims=True) - values) / (people - 1)
        systems.append(TrainingRuns(values.mean(axis=1), without))
    spread = training_spread(systems, np.full(people, 1.0 / people), float(people))
    assert spread is not None
    value = systems[0].mean - systems[1].mean
    (low, high), (least, most) = spread.both.limits(value), spread.people.limits(value)
    return low <= 0.0 <= high, least <= 0.0 <= most


if __name__ == "__main__":
    main()
