"""What each encoder makes of both kinds of speech."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.auditing.sets import EmbeddingSets, check_pair
from zeroevidence.data.embeddings import Embeddings, speaker_names
from zeroevidence.data.threat import Material, Training
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Original and anonymised speech as one encoder sees it.

    Parameters
    ----------
    name
        What results call the encoder.
    original, anonymised
        Embeddings of the same people before and after protection.
    trained_on
        What the encoder learned from; one that was fine-tuned on anonymised speech attacks only as semi-informed.
    """

    name: str
    original: EmbeddingSets
    anonymised: EmbeddingSets
    trained_on: Training = "original"

    def __post_init__(self) -> None:
        check_pair(self.original, self.anonymised)

    def sides(self) -> dict[Material, EmbeddingSets]:
        """The sets by the side of a comparison."""
        return {"original": self.original, "anonymised": self.anonymised}


def check_same_people(encoders: list[Encoded]) -> None:
    """Refuse encoders that were not given the same utterances: their scores could not be fused."""
    first = encoders[0]
    for other in encoders[1:]:
        for side, sets in other.sides().items():
            for name, part in sets.parts().items():
                here = first.sides()[side].parts()[name]
                if not np.array_equal(np.sort(here.ids), np.sort(part.ids)):
                    raise InputError(f"{other.name} and {first.name} embed other utterances ({side}, {name})")


def shared_change(encoded: Encoded) -> float:
    """Share of what the protection changes that is common to one person's recordings, over what chance would give.

    Near 0 where each recording is changed by itself, near 1 where a person's recordings are all changed alike. It is
    the intraclass correlation of the differences between protected and original embeddings of the evaluated trials.
    """
    before, after = encoded.original.eval_trial, encoded.anonymised.eval_trial
    difference, who = _paired(before, after)
    _, index, counts = np.unique(who, return_inverse=True, return_counts=True)
    if len(counts) < 2 or len(who) == len(counts):
        return 0.0
    difference = difference - difference.mean(axis=0)
    means = np.zeros((len(counts), difference.shape[1]))
    np.add.at(means, index, difference)
    means /= counts[:, None]
    within = float(((difference - means[index]) ** 2).sum()) / (len(who) - len(counts))
    between = float((counts[:, None] * means**2).sum()) / (len(counts) - 1)
    size = (len(who) - (counts**2).sum() / len(who)) / (len(counts) - 1)
    spread = max((between - within) / size, 0.0)
    return spread / (spread + within) if spread + within > 0.0 else 0.0


def _paired(before: Embeddings, after: Embeddings) -> tuple[FloatArray, StrArray]:
    common, here, there = np.intersect1d(before.ids, after.ids, return_indices=True)
    if not len(common):
        return np.empty((0, before.vectors.shape[1])), np.empty(0, dtype=np.str_)
    x, y = (np.asarray(part.vectors, dtype=np.float64) for part in (before, after))
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    return y[there] - x[here], speaker_names(before)[here]
