"""Signatures: equal ones mean equal numbers, and equal data and options give equal ones."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.data.scores import TandemScores, TrialScores
from zeroevidence.evaluation.tandem import evaluate_tandem

PEOPLE = [f"p{i:02d}" for i in range(14)]
QUICK = ze.Options(intervals=0, null=0)


def search(names=PEOPLE, seed=0, order=None):
    """A search of two trials per person; the people may have other names, and rows and columns another order."""
    n = len(names)
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n), 2)
    scores = rng.normal(size=(2 * n, n)) + 1.5 * (mated[:, None] == np.arange(n))
    rows, columns = (np.arange(2 * n), np.arange(n)) if order is None else order
    trials = np.array([f"{names[person]}-{at % 2}" for at, person in enumerate(mated)])
    people = np.array(names)
    place = np.argsort(columns)
    return ze.ScoreMatrix(
        scores[rows][:, columns],
        place[mated[rows]],
        trials[rows],
        people[columns],
        people[mated[rows]],
        people[columns],
    )


def numbers(row):
    return {name: (result.value, result.low, result.high) for name, result in row.metrics.items()}


def test_another_order_of_names_is_another_signature():
    one = ze.evaluate(search(), options=QUICK)
    renamed = ze.evaluate(search(PEOPLE[::-1]), options=QUICK)
    assert numbers(one) != numbers(renamed)  # folds and halves follow names
    assert one.signature != renamed.signature


def test_who_is_compared_with_whom_is_in_the_signature():
    """The same scores of both classes, exchanged between pairs."""
    data = search().to_scores()
    exchanged = replace(data, target=data.target[::-1].copy())
    one, other = (ze.evaluate(scores, options=QUICK) for scores in (data, exchanged))
    assert one.metrics["alid"].value != other.metrics["alid"].value
    assert one.signature != other.signature


def test_prior_and_development_data_are_in_the_signature():
    uneven = dict(zip(PEOPLE, np.arange(1.0, 15.0) / 105.0, strict=True))
    even_more = dict(zip(PEOPLE, np.arange(15.0, 1.0, -1.0)[:14] / 119.0, strict=True))
    others = [f"q{i:02d}" for i in range(14)]
    rows = [
        ze.evaluate(search(), options=QUICK),
        *(ze.evaluate(search(), options=QUICK, prior=prior) for prior in (uneven, even_more)),
        *(ze.evaluate(search(), options=QUICK, dev=search(names, seed=1)) for names in (others, others[::-1])),
    ]
    assert len({row.signature for row in rows}) == 5


@pytest.mark.parametrize("option", [{"omega": 1.0000001}, {"dcf_prior": 0.05 + 1e-9}, {"l2": 1e-300}])
def test_digits_of_options_are_in_the_signature(option):
    usual, changed = (ze.evaluate(search(), options=replace(QUICK, **values)) for values in ({}, option))
    assert usual.signature != changed.signature
    assert repr(next(iter(option.values()))) in changed.signature or "1e-300" in changed.signature


def tandem(speakers):
    rng = np.random.default_rng(0)

    def trials(mean, names):
        attacks = None if mean > 0 else np.full(20, "A01")
        return TrialScores(rng.normal(mean, 1, 20), speakers=names, attacks=attacks)

    return TandemScores(cm_bonafide=trials(1.0, np.repeat(speakers, 5)), cm_spoof=trials(-1.0, None))


def test_speakers_of_a_tandem_are_in_the_signature():
    signatures = {
        evaluate_tandem(tandem(speakers), intervals=0)[0].signature
        for speakers in (["a", "b", "c", "d"], ["b", "a", "c", "d"], ["e", "f", "g", "h"])
    }
    assert len(signatures) == 3


def test_copied_lines_without_identifiers_are_said():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 40), rng.normal(0, 1, 200)
    few = ze.evaluate(np.append(target, target[:10]), np.append(nontarget, nontarget[:90]), options=QUICK)
    tripled = ze.evaluate(np.repeat(target, 3), np.tile(nontarget, 3), options=QUICK)
    marks = ze.evaluate(np.repeat([3.0, 4.0, 5.0], 20), np.repeat([1.0, 2.0, 3.0], 20), options=QUICK)
    said = [[flag.sentence for flag in row.flags if flag.code == "equal-scores"] for row in (few, tripled, marks)]
    assert (said[0], said[2]) == ([], [])
    assert said[1][0].startswith("720 of 720 scores equal another one of their class")
    named = search().to_scores()
    rounded = replace(named, target=np.round(named.target), nontarget=np.round(named.nontarget))
    assert "equal-scores" not in {flag.code for flag in ze.evaluate(rounded, options=QUICK).flags}
