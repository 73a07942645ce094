"""Whether the pitch is moved by another amount for each speaker, which speaker encoders hardly see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.cues.cue import CUES
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech
from zeroevidence.auditing.inputs.speaker_draws import paired_trials
from zeroevidence.evaluation.rows.flags import FEW_SPEAKERS

_LEAST = 1.0  # semitones
_TIMES = 2.0  # the spread between people over that of a person's recordings


@dataclass(frozen=True, slots=True)
class PitchChange:
    """By how much the pitch is moved, beyond what the pitch itself explains, in semitones.

    Parameters
    ----------
    between
        Standard deviation over recordings of different people, by the median difference of pairs of them.
    within
        The same over recordings of one person.
    """

    between: float = 0.0
    within: float = inf

    @property
    def drawn_per_speaker(self) -> bool:
        """Whether the pitch of each person seems to be moved by an amount of its own."""
        return self.between >= max(_LEAST, _TIMES * self.within)


def pitch_change(folds: Sequence[EncodedSpeech]) -> PitchChange:
    """Return by how much the protection moves the pitch of trials; nothing is known of fewer than `FEW_SPEAKERS`.

    Medians are compared throughout, since a pitch that is tracked an octave off must not count as a draw.

    Parameters
    ----------
    folds
        All cues of both kinds of speech in each fold of people.
    """
    before, after, speakers, _ = paired_trials(folds)
    if not len(speakers):
        return PitchChange()
    first = sum(len(cue.features) for cue in CUES.values() if cue.name < "pitch")
    features = [feature.name for feature in CUES["pitch"].features]
    columns, median = slice(first, first + len(features)), features.index("median")
    measured = before[:, columns].any(axis=1) & after[:, columns].any(axis=1)  # zeros stand for what is not known
    semitones = CUES["pitch"].features[median].spread * 12.0 / log(2.0)
    x, y = (side[measured, first + median] * semitones for side in (before, after))
    _, index, counts = np.unique(speakers[measured], return_inverse=True, return_counts=True)
    if np.count_nonzero(counts > 1) < FEW_SPEAKERS:
        return PitchChange()
    moved = y - _slope(_medians(x, index), _medians(y, index)) * x
    same = index[:, None] == index[None, :]
    apart = np.abs(moved[:, None] - moved[None, :])
    return PitchChange(_deviation(apart[~same]), _deviation(apart[same & ~np.eye(len(index), dtype=bool)]))


def _slope(x: FloatArray, y: FloatArray) -> float:
    """Return the slope of y over x: the median over pairs [Theil and Sen] that are a semitone apart."""
    rows, columns = np.triu_indices(len(x), 1)
    apart = np.abs(x[rows] - x[columns]) > 1.0
    steps = (y[rows] - y[columns])[apart] / (x[rows] - x[columns])[apart]
    return float(np.median(steps)) if len(steps) else 1.0


def _medians(values: FloatArray, index: IntArray) -> FloatArray:
    return np.array([np.median(values[index == person]) for person in range(index.max() + 1)])


def _deviation(differences: FloatArray) -> float:
    """Return the standard deviation of normal values whose pairs have these differences, by the median."""
    return 1.4826 / sqrt(2.0) * float(np.median(differences))
