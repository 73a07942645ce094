"""Simulated people for whom limits are hard to keep: what `validity.py --part hard` judges limits on.

The first half was used for choosing how limits are made, the other half was not.

rare          a twentieth of the people are recognised in every recording, nothing leaks of the others
once          one recording of each person (or as many as the cell says)
hubs          a thirtieth are enrolled voices that draw many names, a thirtieth hear their own name hardly ever
integers      scores are whole numbers, most of them between -3 and 3

rare vectors  embeddings: a twentieth of the people are not protected, the vectors of the others are noise (held out)
sessions      embeddings: recordings come in sessions with a vector of their own, people have from 2 to 18 (held out)
families      embeddings: three people each sound alike (held out)
quality       embeddings: the noise of each recording has the tails of a t distribution with 3 degrees (held out)
real          embeddings of 125 real people with noise added, people drawn anew in each simulation (held out)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from validity_designs import DESIGNS, LEAKS, RECORDINGS, Design, matrix

from zeroevidence.data.matrix import ScoreMatrix

REAL = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "embeddings" / "speechocean_campplus.npz"
RARE = 0.05
_DIMENSIONS = 24


@dataclass(frozen=True)
class HardDesign:
    """A generator of score matrices.

    Parameters
    ----------
    draw
        A matrix of so many people with so many recordings each, from a generator of random numbers.
    held_out
        Whether it was left out when the way of making limits was chosen.
    """

    draw: Callable[[int, int, np.random.Generator], ScoreMatrix]
    held_out: bool


def expose(data, rng, share=RARE):
    """The same scores where each person, with a probability, is recognised in every recording; and who is."""
    exposed = np.flatnonzero(rng.random(data.scores.shape[1]) < share)
    scores = np.array(data.scores)
    rows = np.flatnonzero(np.isin(data.mated, exposed))
    scores[rows, data.mated[rows]] = scores.max() + 1.0
    return _searched(scores, data.mated)


def _searched(scores, mated):
    names = np.array([f"s{i}" for i in range(scores.shape[1])])
    return ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)


def _additive(n, recordings, rng, *, design=DESIGNS["equal"], leak="medium"):
    return matrix(design, LEAKS[leak], n, rng, recordings=recordings)


def _rare(n, recordings, rng):
    return expose(_additive(n, recordings, rng, leak="none"), rng)


def _integers(n, recordings, rng):
    data = _additive(n, recordings, rng)
    return _searched(np.round(data.scores), data.mated)


def _compared(enrolled, heard, mated):
    """Cosine scores of vectors, on a scale where their spread is about 1."""
    enrolled, heard = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (enrolled, heard))
    return _searched(np.sqrt(enrolled.shape[1]) * heard @ enrolled.T, mated)


def _vectors(n, recordings, rng, *, family=0.0, session=0.0, quality=None, uneven=False, exposed=0.0):
    """Vectors of people, three of a family each, of their sessions of three recordings each, and of recordings."""

    def noise(size):
        scale = np.ones(size) if quality is None else np.abs(rng.standard_t(quality, size))
        return scale[:, None] * rng.standard_normal((size, _DIMENSIONS))

    people = family * rng.standard_normal((n // 3 + 1, _DIMENSIONS))[np.arange(n) // 3]
    people = people + np.sqrt(1.0 - family**2) * rng.standard_normal((n, _DIMENSIONS))
    counts = rng.integers(min(2, recordings), max(2, 2 * recordings - 1), n) if uneven else np.full(n, recordings)
    mated = np.repeat(np.arange(n), counts)
    place = np.arange(len(mated)) - np.repeat(np.cumsum(counts) - counts, counts)
    _, whose_session = np.unique(mated * len(mated) + place // 3, return_inverse=True)
    rooms = session * rng.standard_normal((len(mated), _DIMENSIONS))
    spread = 1.5
    voice = np.ones(n)
    if exposed:
        # What is not of the exposed is noise, what is of them has hardly any.
        voice, spread = np.where(rng.random(n) < exposed, 100.0, 0.0), 1.0
    heard = voice[mated, None] * people[mated] + rooms[whose_session] + spread * noise(len(mated))
    enrolled = voice[:, None] * people + session * rng.standard_normal(people.shape) + spread * noise(n)
    return _compared(enrolled, heard, mated)


@lru_cache(1)
def _real_vectors():
    with np.load(REAL, allow_pickle=False) as file:
        vectors, speakers = file["vectors"].astype(np.float64), np.unique(file["speaker"], return_inverse=True)[1]
    vectors = vectors - vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [vectors[speakers == person] for person in range(speakers.max() + 1)]


def _real(n, recordings, rng):
    people = _real_vectors()
    chosen = rng.choice(len(people), n, replace=False)
    drawn = [people[person][rng.permutation(len(people[person]))[: recordings + 1]] for person in chosen]
    vectors = np.concatenate(drawn)
    vectors = vectors + 0.15 * rng.standard_normal(vectors.shape)
    first = np.arange(n) * (recordings + 1)
    return _compared(vectors[first], np.delete(vectors, first, axis=0), np.repeat(np.arange(n), recordings))


_HUBS = Design(goats=1 / 30, lambs=1 / 30, vary=0.15)
HARD = {
    "rare": HardDesign(_rare, held_out=False),
    "once": HardDesign(_additive, held_out=False),
    "hubs": HardDesign(partial(_additive, design=_HUBS), held_out=False),
    "integers": HardDesign(_integers, held_out=False),
    "rare vectors": HardDesign(partial(_vectors, exposed=RARE), held_out=True),
    "sessions": HardDesign(partial(_vectors, session=0.7, uneven=True), held_out=True),
    "families": HardDesign(partial(_vectors, family=0.7), held_out=True),
    "quality": HardDesign(partial(_vectors, quality=3.0), held_out=True),
    "real": HardDesign(_real, held_out=True),
}


def hard_matrix(design, n, recordings, seed):
    """Every recording against everybody."""
    return HARD[design].draw(n, recordings or RECORDINGS, np.random.default_rng(seed))
