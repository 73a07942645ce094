"""What an attacker may change in the protocol: the registry of choices, each with its options.

The released trials never change. An option takes fewer of the enrolled recordings, takes trials together, or changes
the scores of people who are searched. Development people choose among options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.registry import Registry

ChangeSets: TypeAlias = Callable[[EmbeddingSets], EmbeddingSets]
# of a matrix, the trials with their vectors, and the enrolled recordings, both with their attributes
ChangeScores: TypeAlias = Callable[[ScoreMatrix, Embeddings, Embeddings], ScoreMatrix]


def same_sets(sets: EmbeddingSets) -> EmbeddingSets:
    """Return the sets as they are."""
    return sets


def same_scores(matrix: ScoreMatrix, _trials: Embeddings, _enrolment: Embeddings) -> ScoreMatrix:
    """Return the scores as they are."""
    return matrix


@dataclass(frozen=True, slots=True)
class ProtocolOption:
    """A protocol that differs from the usual one in one respect.

    Parameters
    ----------
    protocol
        Returns a protocol with this difference.
    sets
        Changes the enrolment, or the trials.
    scores
        Changes the scores of a search.
    """

    protocol: Callable[[Protocol], Protocol]
    sets: ChangeSets = same_sets
    scores: ChangeScores = same_scores


@dataclass(frozen=True, slots=True)
class ProtocolChoice:
    """One respect in which an attacker may choose the protocol.

    Parameters
    ----------
    name
        Its name.
    title
        A line on what is chosen.
    place
        Its place in the order in which choices are made.
    options
        Options beside the usual protocol, given the training speech of the attacker and the speech that trials are of;
        none where this speech does not allow for any.
    """

    name: str
    title: str
    place: int
    options: Callable[[Embeddings, EmbeddingSets], Sequence[ProtocolOption]]


PROTOCOLS: Registry[ProtocolChoice] = Registry(
    "choice of a protocol", package="zeroevidence.auditing.protocols", order=lambda choice: choice.place
)


def recordings_of_each(part: Embeddings) -> IntArray:
    """Return how many recordings each person has."""
    _, counts = np.unique(require_speakers(part), return_counts=True)
    return counts.astype(np.int64)


def usual_protocol(sets: EmbeddingSets) -> Protocol:
    """Return the protocol of the main rows: everything that is enrolled, one recording in a trial, everybody searched.

    Parameters
    ----------
    sets
        The speech.
    """
    return Protocol(int(recordings_of_each(sets.eval_enrol).max()))
