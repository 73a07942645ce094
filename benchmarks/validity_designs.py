"""Simulated people whose truth is known: what `validity.py` judges intervals, nulls and comparisons on.

A score is the sum of effects of the enrolled person, of the person heard, of the pair of people, of the recording and
of chance, plus a shift for mated pairs. Designs differ in who speaks how often, and in how people differ.

equal         everybody has ten recordings, effects are Gaussian
zipf          a few people have most of the recordings: the i-th has a share of 1 / i
zoo           goats are hard to recognise (a fifth of the people), lambs are easily taken for (a tenth), wolves are
              easily taken for others (a tenth)
heavy         effects of people, and how well each is recognised, have the tails of a t distribution with 3 degrees
crossed       effects of the enrolled person and of the person heard are twice as large
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores, TandemScores, TrialScores

LEAKS = {"none": 0.0, "medium": 1.5, "strong": 5.7}  # shift of mated pairs; medium is an EER of 27 %, strong of 1 %
RECORDINGS = 10


@dataclass(frozen=True)
class Design:
    """How people differ, and how often each is recorded.

    Parameters
    ----------
    enrolment, speaker, pair, recording, chance
        Standard deviations of the effects.
    tails
        Degrees of freedom of the effects of people; None for Gaussian ones.
    uneven
        Whether numbers of recordings follow Zipf's law.
    goats, lambs, wolves
        Shares of people of these kinds.
    vary
        Standard deviation, over people, of how well they are recognised, as a share of the shift.
    """

    enrolment: float = 0.5
    speaker: float = 0.5
    pair: float = 0.5
    recording: float = 0.5
    chance: float = 0.7
    tails: float | None = None
    uneven: bool = False
    goats: float = 0.0
    lambs: float = 0.0
    wolves: float = 0.0
    vary: float = 0.0


DESIGNS = {
    "equal": Design(),
    "zipf": Design(uneven=True),
    "zoo": Design(goats=0.2, lambs=0.1, wolves=0.1),
    "heavy": Design(tails=3.0, vary=0.3),
    "crossed": Design(enrolment=1.0, speaker=1.0),
}


def of_people(design, shift, n, rng):
    """Effects of `n` people: as enrolled, as heard, and the shift of each."""
    draw = rng.standard_normal if design.tails is None else _tailed(design.tails, rng)
    enrolled, heard = design.enrolment * draw(n), design.speaker * draw(n)
    enrolled = enrolled + (rng.random(n) < design.lambs)
    heard = heard + (rng.random(n) < design.wolves)
    shifts = shift * np.where(rng.random(n) < design.goats, 0.3, 1.0) * (1.0 + design.vary * draw(n))
    return enrolled, heard, shifts


def _tailed(degrees, rng):
    return lambda n: rng.standard_t(degrees, n) / np.sqrt(degrees / (degrees - 2.0))


def recordings_of(design, n, recordings=RECORDINGS):
    """Numbers of recordings of each person."""
    if not design.uneven:
        return np.full(n, recordings)
    shares = 1.0 / np.arange(1, n + 1)
    return np.maximum(1, np.round(recordings * n * shares / shares.sum())).astype(int)


def matrix(design, shift, n, seed, recordings=RECORDINGS):
    """Every recording against everybody."""
    rng = np.random.default_rng(seed)
    enrolled, heard, shifts = of_people(design, shift, n, rng)
    speaker = np.repeat(np.arange(n), recordings_of(design, n, recordings))
    scores = (
        enrolled
        + heard[speaker][:, None]
        + design.pair * rng.standard_normal((n, n))[speaker]
        + design.recording * rng.standard_normal((len(speaker), 1))
        + design.chance * rng.standard_normal((len(speaker), n))
    )
    scores[np.arange(len(speaker)), speaker] += shifts[speaker]
    names = np.array([f"s{i}" for i in range(n)])
    return ScoreMatrix(scores, speaker, trial_speakers=names[speaker], enrolment_speakers=names)


def independent(design, shift, n, seed):
    """Targets and non-targets of `n` people and pairs each, one of each person: the population as a whole."""
    rng = np.random.default_rng(seed)
    within = np.sqrt(design.pair**2 + design.recording**2 + design.chance**2)
    enrolled, heard, shifts = of_people(design, shift, n, rng)
    target = enrolled + heard + shifts + within * rng.standard_normal(n)
    enrolled, _, _ = of_people(design, shift, n, rng)
    _, heard, _ = of_people(design, shift, n, rng)
    return target, enrolled + heard + within * rng.standard_normal(n)


def trial_list(design, shift, n, seed, *, targets=10, nontargets=20, enrolments=3):
    """A list of single comparisons: each person's recordings with each other, and with a few of other people.

    A person has the same effect on either side of a pair, as in lists where any recording may be enrolled.
    """
    rng = np.random.default_rng(seed)
    _, effect, shifts = of_people(design, shift, n, rng)
    counts = recordings_of(design, n)
    first, second = [], []
    for person in range(n):
        own = max(1, round(targets * counts[person] / RECORDINGS))
        first += [person] * own
        second += [person] * own
        others = rng.integers(0, n - 1, max(1, round(nontargets * counts[person] / RECORDINGS)))
        first += [person] * len(others)
        second += (others + (others >= person)).tolist()
    first, second = np.array(first), np.array(second)
    one = first * enrolments + rng.integers(0, enrolments, len(first))
    other = second * (counts.max() + 1) + rng.integers(0, counts[second] + 1)
    mated = first == second
    pair = design.pair * rng.standard_normal((n, n))
    scores = (
        effect[first] + effect[second] + pair[np.minimum(first, second), np.maximum(first, second)]
        + design.recording * (rng.standard_normal(one.max() + 1)[one] + rng.standard_normal(other.max() + 1)[other])
        + design.chance * rng.standard_normal(len(first))
        + np.where(mated, shifts[first], 0.0)
    )  # fmt: skip
    names = np.array([f"s{i}" for i in range(n)])
    left, left_code = np.unique(one, return_inverse=True)
    right, right_code = np.unique(other, return_inverse=True)
    return Scores(
        scores[mated],
        scores[~mated],
        Pairs(left_code[mated], right_code[mated]),
        Pairs(left_code[~mated], right_code[~mated]),
        np.char.add("e", left.astype(str)),
        np.char.add("t", right.astype(str)),
        names[left // enrolments],
        names[right // (counts.max() + 1)],
    )


def complete_list(design, shift, n, seed, enrolments=3):
    """Every recording against several enrolments of everybody, which is a list and not a matrix."""
    rng = np.random.default_rng(seed)
    data = matrix(design, shift, n, seed)
    owner = np.repeat(np.arange(n), enrolments)
    scores = data.scores[:, owner] + design.recording * rng.standard_normal(len(owner))
    mated = data.mated[:, None] == owner
    trial, enrolment = np.nonzero(mated)
    other_trial, other_enrolment = np.nonzero(~mated)
    names = data.enrolment_speakers
    return Scores(
        scores[mated],
        scores[~mated],
        Pairs(enrolment, trial),
        Pairs(other_enrolment, other_trial),
        np.char.add("e", np.arange(len(owner)).astype(str)),
        np.char.add("t", np.arange(len(scores)).astype(str)),
        names[owner],
        data.trial_speakers,
    )


def independent_list(design, shift, n, seed):
    """The population behind `trial_list`."""
    rng = np.random.default_rng(seed)
    within = np.sqrt(design.pair**2 + 2 * design.recording**2 + design.chance**2)
    _, one, shifts = of_people(design, shift, n, rng)
    _, other, _ = of_people(design, shift, n, rng)
    _, third, _ = of_people(design, shift, n, rng)
    target = 2 * one + shifts + within * rng.standard_normal(n)
    return target, other + third + within * rng.standard_normal(n)


def tandem(design, n, attacks, seed):
    """A verifier behind a countermeasure: people and attacks have effects of their own."""
    rng = np.random.default_rng(seed)
    enrolled, heard, _ = of_people(design, 1.0, n, rng)
    made = 0.7 * rng.standard_normal(attacks) if attacks > 1 else np.zeros(1)
    counts = recordings_of(design, n)
    names, kinds = np.array([f"s{i}" for i in range(n)]), np.array([f"A{i:03}" for i in range(attacks)])

    def trials(mean, effect, times, spoofed=False):
        who = np.repeat(np.arange(n), times * counts)
        attack = rng.integers(0, attacks, len(who))
        scores = mean + effect[who] + rng.standard_normal(len(who)) + (made[attack] if spoofed else 0.0)
        return TrialScores(scores, speakers=names[who], attacks=kinds[attack] if spoofed else None)

    return TandemScores(
        cm_bonafide=trials(2.5, heard, 1),
        cm_spoof=trials(0.0, heard, 2, spoofed=True),
        asv_target=trials(3.5, enrolled, 1),
        asv_nontarget=trials(0.0, enrolled, 2),
        asv_spoof=trials(2.0, enrolled, 2, spoofed=True),
        sasv_target=trials(3.0, enrolled, 1),
        sasv_nontarget=trials(0.0, enrolled, 2),
        sasv_spoof=trials(0.5, enrolled, 2, spoofed=True),
    )
