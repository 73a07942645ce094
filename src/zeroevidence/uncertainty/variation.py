"""Test of whether people differ from each other by more than chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.uncertainty.resampling.draws import generator

_TIMES = 999
_MOST_VALUES = 20_000_000  # drawn values of all permutations together
_FEWEST = 99


@dataclass(frozen=True, slots=True)
class VariationBetweenPeople:
    """Variation of a measure between people.

    Parameters
    ----------
    deviation
        Standard deviation between people, less what their few recordings explain; 0 where these explain all.
    p_value
        How often people differ as much when recordings are dealt to them at random.
    people
        Number of people.
    recordings
        Number of their recordings.
    """

    deviation: float
    p_value: float
    people: int
    recordings: int


def variation_between_people(values: FloatArray, whose: IntArray, *, seed: int = 0) -> VariationBetweenPeople | None:
    """Test the sum of squares between people of values of recordings by permutation.

    Parameters
    ----------
    values
        A value of each recording.
    whose
        The person of each recording.
    seed
        Seed of the permutations.

    Returns
    -------
    VariationBetweenPeople or None
        None where fewer than two people have values, or everybody has one only.

    Examples
    --------
    >>> variation = variation_between_people(np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.2]), np.array([0, 0, 1, 1, 2, 2]))
    >>> round(variation.deviation, 1), variation.p_value < 0.1
    (4.5, True)
    """
    names, person = np.unique(whose, return_inverse=True)
    counts = np.bincount(person)
    people, recordings = len(names), len(values)
    if people < 2 or recordings <= people:
        return None
    # On a scale of their own, so that no sum of squares is too large or too small for a number.
    spread = float(np.abs(values - values.mean()).max())
    scaled = np.zeros(recordings) if spread == 0.0 else (values - values.mean()) / spread
    between = _between(scaled, person, counts)
    within = float((scaled**2).sum()) - between
    usual = (recordings - float((counts**2).sum()) / recordings) / (people - 1)
    variance = (between / (people - 1) - within / (recordings - people)) / usual
    times = int(np.clip(_MOST_VALUES // recordings, _FEWEST, _TIMES))
    rng = generator(seed, 5, 0)
    drawn = np.array([_between(rng.permutation(scaled), person, counts) for _ in range(times)])
    as_large = int(np.count_nonzero(drawn >= between * (1.0 - 1e-12)))
    deviation = spread * float(np.sqrt(max(0.0, variance)))
    return VariationBetweenPeople(deviation, (1.0 + as_large) / (1.0 + times), people, recordings)


def _between(values: FloatArray, person: IntArray, counts: IntArray) -> float:
    """Sum of squares between people of values whose mean is 0."""
    return float((np.bincount(person, weights=values) ** 2 / counts).sum())
