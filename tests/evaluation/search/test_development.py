"""Warnings where development people were searched in another way than the evaluated ones, and where not."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.evaluation.score_checks import development_flags, sex_flags

QUICK = ze.Options(intervals=0, null=0)
CODES = {"development-size", "development-spread", "development-sex"}


def search(people, prefix, spread=1.0, trials=300):
    rng = np.random.default_rng(people)
    mated = np.arange(trials) % people
    names = np.array([f"{prefix}{number:03d}" for number in range(people)])
    # rows of the same deviation, whatever their level
    scores = rng.normal(size=(trials, people)) + 3.0 * np.eye(people)[mated]
    scores = spread * (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    return ze.ScoreMatrix(scores + rng.normal(0.0, 9.0, (trials, 1)), mated, None, names, names[mated], names)


def codes(row):
    return {flag.code for flag in row.flags} & CODES


@pytest.mark.parametrize(
    ("people", "spread", "expected"),
    [
        (20, 1.0, set()),
        (14, 1.0, set()),
        (13, 1.0, {"development-size"}),
        (30, 1.0, set()),
        (31, 1.0, {"development-size"}),
        (20, 1.49, set()),
        (20, 1.51, {"development-spread"}),
        (20, 0.67, set()),
        (20, 0.66, {"development-spread"}),
        (40, 3.0, {"development-size", "development-spread"}),
    ],
)
def test_searches_that_differ(people, spread, expected):
    evaluated, dev = search(20, "p"), search(people, "d", spread)
    assert {flag.code for flag in development_flags(evaluated, dev)} == expected
    assert codes(ze.evaluate(evaluated, dev=dev, options=QUICK)) == expected
    assert codes(ze.evaluate(evaluated, options=QUICK)) == set()


def test_many_trials_are_looked_at_in_part():
    assert development_flags(search(5, "p", trials=5000), search(5, "d", trials=40)) == []


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [("f", "m", {"development-sex"}), ("f", "f", set()), (None, "m", set()), ("f", None, set())],
)
def test_sexes_that_differ(here, there, expected):
    labels = [{} if sex is None else {"sex": sex} for sex in (here, there)]
    assert {flag.code for flag in sex_flags(*labels)} == expected
