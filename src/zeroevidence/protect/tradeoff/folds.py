"""Splits of people in which protectors are compared: to fit protectors, to train attackers, to test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.protect.assessment.roles import stratified_parts
from zeroevidence.protect.assessment.verification import Verifier

PARTS = 4  # of the people: half fit the protector, a quarter trains attackers, a quarter is tested


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One split of people: half fit protectors and the PLDA, a quarter trains attackers, a quarter is tested."""

    train: Embeddings
    verifier: Verifier  # of the other half
    tested: BoolArray  # which of the other half's vectors

    @property
    def others(self) -> Embeddings:
        """The half that attacks and is tested, in the verifier's order."""
        return self.verifier.people

    def sides(self, vectors: FloatArray) -> tuple[Embeddings, Embeddings]:
        """Return protected vectors of those who train attackers, and of those who are tested."""
        everyone = Embeddings(vectors, self.others.ids, self.others.speakers, self.others.attributes)
        return everyone.take(~self.tested), everyone.take(self.tested)


def split_people(data: Embeddings, attribute: str, *, seed: int = 0) -> list[Fold]:
    """Return four splits of the people of each class; everybody is tested once."""
    part = stratified_parts(data, attribute, PARTS, seed)
    folds = []
    for place in range(PARTS):
        tested, attacks = part == place, part == (place + 1) % PARTS
        train = data.take(~tested & ~attacks)
        verifier = Verifier.of(train, data.take(tested | attacks))
        names = require_speakers(verifier.people)
        folds.append(Fold(train, verifier, np.isin(names, require_speakers(data.take(tested)))))
    return folds


def searched_people(folds: Sequence[Fold]) -> int:
    """Return the number of people among whom verifiers search for the right one, on average."""
    return round(float(np.mean([len(np.unique(require_speakers(fold.others))) for fold in folds])))
