"""Searches made by hand."""

import numpy as np

import zeroevidence as ze


def named_search(scores, mated, person="p{:02d}", trial="u{:03d}"):
    """Scores of trials against people as a search in which all of them have names."""
    people = np.array([person.format(i) for i in range(scores.shape[1])])
    trials = [trial.format(i) for i in range(len(mated))]
    return ze.ScoreMatrix(scores, mated, trials, people, people[mated], people)
