"""Small results of every kind that a report may get."""

import numpy as np
import pytest

import zeroevidence as ze

OPTIONS = ze.Options(intervals=20, null=19)


def make_search(shift, *, seed=0, people=20, name="p", options=OPTIONS, **labels):
    """A search through people whose voices stand out by `shift`."""
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(people), 4)
    scores = rng.normal(0.0, 1.0, (len(mated), people))
    scores[np.arange(len(mated)), mated] += shift
    names = np.array([f"{name}{i:03d}" for i in range(people)])
    return ze.evaluate(
        ze.ScoreMatrix(
            scores,
            mated,
            trials=np.array([f"utt{i:03d}" for i in range(len(mated))]),
            enrolments=names,
            trial_speakers=names[mated],
            enrolment_speakers=names,
        ),
        labels=labels,
        options=options,
    )


def make_pairs(shift, *, seed=0, options=OPTIONS, **labels):
    """Single comparisons."""
    rng = np.random.default_rng(seed)
    scores = ze.Scores(rng.normal(shift, 1.0, 60), rng.normal(0.0, 1.0, 600))
    return ze.evaluate(scores, labels=labels, options=options)


@pytest.fixture(scope="session")
def audit_rows():
    """A strong and a weak attacker on one system, and both bounds."""
    setting = {"dataset": "d", "backend": "cosine"}
    anonymised = {"enrolment": "anonymised", "trial": "anonymised"}
    search = make_search
    return [
        search(6.0, system="none", attacker="unprotected (enrolment original, trained on original)", **setting),
        search(0.0, seed=1, system="noise", attacker="random (enrolment noise, trained on original)", **setting),
        search(0.8, seed=2, system="sys", attacker="ignorant (enrolment original, trained on original)", **setting),
        search(2.5, seed=3, system="sys", attacker="lazy-informed (enrolment anonymised)", **setting, **anonymised),
    ]


@pytest.fixture(scope="session")
def search():
    """Makes a search."""
    return make_search


@pytest.fixture(scope="session")
def pairs():
    """Makes an evaluation of single comparisons."""
    return make_pairs
