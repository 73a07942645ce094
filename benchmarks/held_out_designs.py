"""Simulated voices that limits, tests and plans were not made with: what `validity.py` judges them on.

A voice is a vector. A protected recording keeps a share of it, its clarity, beside what the protected person sounds
like in all recordings, and noise; the enrolled recordings are of the voice. Scores are cosines. Designs differ in the
clarity of people and in how often each is recorded.

nothing       no clarity: the recordings tell nothing of the voice
rooms         nothing either, but everybody speaks in some of five rooms, and was enrolled in one of them
uneven        nothing either, and numbers of recordings are lognormal
graded        clarity is lognormal: some people are recognised much better than others
reluctant     a fifth of the people are hardly recognised, the others well
half          half of the people are recognised nearly always, of the others nothing is kept
one in forty  one person in forty is recognised nearly always, of the others nothing is kept
talkative     numbers of recordings follow a Pareto law, and clarity grows with their logarithm
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores

DIMENSIONS = 16
CHARACTER = 0.8  # what a protected person sounds like in all recordings, beside noise of 1
ENROLLED = 0.5  # noise of enrolled recordings
MANY = 40  # recordings that make a person talkative: one person in about forty has more


def _same(_, n, mean):
    return np.full(n, mean)


@dataclass(frozen=True)
class Voices:
    """How clear people's protected voices are, and how often each is recorded.

    Parameters
    ----------
    clarity
        Of people with so many recordings each.
    counts
        Numbers of recordings of so many people, around a mean.
    rooms
        How loud rooms are.
    """

    clarity: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    counts: Callable[[np.random.Generator, int, int], np.ndarray] = _same
    rooms: float = 0.0


def _none(_, counts):
    return np.zeros(len(counts))


def _graded(rng, counts):
    return 0.6 * np.exp(0.4 * rng.standard_normal(len(counts)))


def _shares(share, below, above):
    return lambda rng, counts: np.where(rng.random(len(counts)) < share, below, above)


def _lognormal(rng, n, mean):
    return np.maximum(1, np.round(mean * np.exp(0.9 * rng.standard_normal(n) - 0.4))).astype(int)


def _pareto(rng, n, mean):
    return np.minimum(150, np.floor(0.3 * mean * rng.random(n) ** (-1.0 / 1.4))).astype(int)


VOICES = {
    "nothing": Voices(_none),
    "rooms": Voices(_none, rooms=0.8),
    "uneven": Voices(_none, _lognormal),
    "graded": Voices(_graded),
    "reluctant": Voices(_shares(0.2, 0.1, 1.0)),
    "half": Voices(_shares(0.5, 0.0, 2.5)),
    "one in forty": Voices(_shares(1 / 40, 4.0, 0.0)),
    "talkative": Voices(lambda _, counts: 0.25 * np.log(counts / 2.0), _pareto),
}


def _unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True)
class Sample:
    """People, as they are enrolled and as they are heard."""

    clarity: np.ndarray
    counts: np.ndarray
    voice: np.ndarray
    character: np.ndarray
    enrolled: np.ndarray
    rooms: np.ndarray


def people(design, n, recordings, rng):
    """Draw people of a design."""
    voices = VOICES[design]
    counts = voices.counts(rng, n, recordings)
    voice, character = rng.standard_normal((n, DIMENSIONS)), CHARACTER * rng.standard_normal((n, DIMENSIONS))
    rooms = voices.rooms * rng.standard_normal((5, DIMENSIONS))
    enrolled = voice + ENROLLED * rng.standard_normal(voice.shape) + rooms[rng.integers(0, 5, n)]
    return Sample(voices.clarity(rng, counts), counts, voice, character, enrolled, rooms)


def recorded(sample, mated, rng, clearer=1.0):
    """Recordings of these people, one for each entry of `mated`."""
    noise = rng.standard_normal((len(mated), DIMENSIONS))
    rooms = sample.rooms[rng.integers(0, 5, len(mated))]
    kept = clearer * sample.clarity[mated, None] * sample.voice[mated]
    return kept + sample.character[mated] + rooms + noise


def search(sample, rng, counts=None, clearer=1.0):
    """Every recording against everybody; `counts` in place of the numbers of recordings of these people."""
    n = len(sample.counts)
    mated = np.repeat(np.arange(n), sample.counts if counts is None else counts)
    scores = 4.0 * _unit(recorded(sample, mated, rng, clearer)) @ _unit(sample.enrolled).T
    names = np.array([f"s{i}" for i in range(n)])
    return ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)


def voices_matrix(design, n, recordings, seed):
    """Every recording of people of a design against everybody."""
    rng = np.random.default_rng(seed)
    return search(people(design, n, recordings, rng), rng)


def systems(design, n, recordings, clearer, seed):
    """Two protections of the same speech, of which the second keeps more of the voice."""
    rng = np.random.default_rng(seed)
    sample = people(design, n, recordings, rng)
    again = Sample(**{**vars(sample), "character": CHARACTER * rng.standard_normal(sample.character.shape)})
    return search(sample, rng), search(again, rng, clearer=clearer)


def voices_list(design, n, recordings, clearer, seed, *, targets=10, nontargets=20, enrolments=3):
    """A list of single comparisons: protected recordings against several enrolments of some people."""
    rng = np.random.default_rng(seed)
    sample = people(design, n, recordings, rng)
    spoken = np.repeat(np.arange(n), recordings)
    owner = np.repeat(np.arange(n), enrolments)
    heard = _unit(recorded(sample, spoken, rng, clearer))
    enrolled = _unit(sample.voice[owner] + ENROLLED * rng.standard_normal((len(owner), DIMENSIONS)))
    person = np.repeat(np.arange(n), targets + nontargets)
    other = (person + rng.integers(1, n, len(person))) % n
    mated = np.tile(np.arange(targets + nontargets) < targets, n)
    trial = person * recordings + rng.integers(0, recordings, len(person))
    enrolment = np.where(mated, person, other) * enrolments + rng.integers(0, enrolments, len(person))
    scores = 4.0 * (heard[trial] * enrolled[enrolment]).sum(axis=1)
    names = np.array([f"s{i}" for i in range(n)])
    return Scores(
        scores[mated],
        scores[~mated],
        Pairs(enrolment[mated], trial[mated]),
        Pairs(enrolment[~mated], trial[~mated]),
        np.char.add("e", np.arange(len(owner)).astype(str)),
        np.char.add("t", np.arange(len(spoken)).astype(str)),
        names[owner],
        names[spoken],
    )
