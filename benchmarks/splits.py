"""Verdicts of generated audits of few people: over seeds, where a leak is clear, and where nothing leaks.

    python benchmarks/splits.py --people 12 18 24 --audits 20 --seeds 20

Embeddings of made-up people are normal vectors; protection keeps a share of the person in each (`leak`) and replaces
the rest. For each number of people and leak it prints how many audits were called what, by the first seed, and over
seeds how many audits were called a leak by one seed and not by another, and how many of the seeds differ from most.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from zeroevidence.auditing import AuditOptions, audit
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import Options
from zeroevidence.run import Run

RECORDINGS, DIMENSION = 8, 32
LEAKS = (0.0, 0.2, 0.5)
OPTIONS = AuditOptions(
    attackers=("backend-informed",), backends=("whitened",), measuring=Options(linkability="pav", intervals=0)
)


def made_up(people: int, leak: float, number: int) -> tuple[Embeddings, Embeddings]:
    """Return recordings of people before and after protection."""
    rng = np.random.default_rng([number, people, round(1000 * leak)])
    who = np.repeat(np.arange(people), RECORDINGS)
    voices = rng.normal(size=(people, DIMENSION))[who]
    names = np.array([f"p{i:02d}" for i in who])
    ids = np.array([f"{name}-{place % RECORDINGS}" for place, name in enumerate(names)])
    before, after = (rng.normal(size=voices.shape) for _ in range(2))
    return Embeddings(voices + 0.7 * before, ids, names), Embeddings(leak * voices + after, ids, names)


def levels(people: int, leak: float, seeds: int, splits: int | None, number: int) -> list[str]:
    """Return what one audit is called by each seed."""
    options, speech = replace(OPTIONS, splits=splits), made_up(people, leak, number)
    return [audit(*speech, options, run=Run(seed=seed, cores=1)).finding.level for seed in range(seeds)]


def main() -> None:
    """Print one line for each number of people and leak."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[12, 18, 24, 30])
    parser.add_argument("--leaks", type=float, nargs="+", default=LEAKS)
    parser.add_argument("--audits", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--splits", type=int)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    for people in given.people:
        for leak in given.leaks:
            started = time.perf_counter()
            of_audit = partial(levels, people, leak, given.seeds, given.splits)
            with ProcessPoolExecutor(given.workers) as pool:
                called = list(pool.map(of_audit, range(given.audits)))
            beaten = [[level in ("recognised", "leaks") for level in each] for each in called]
            both = sum(0 < sum(each) < len(each) for each in beaten)
            differ = max(min(sum(each), len(each) - sum(each)) for each in beaten)
            print(
                f"{people} people, leak {leak:g}: {dict(Counter(each[0] for each in called))}; by some seeds only: "
                f"{both} of {given.audits}; seeds that differ: at most {differ} of {given.seeds}; "
                f"{(time.perf_counter() - started) / given.audits / given.seeds:.1f} s each",
                flush=True,
            )


if __name__ == "__main__":
    main()
