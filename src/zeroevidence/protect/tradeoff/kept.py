"""What protected vectors keep of other attributes of their speakers, such as age where sex is concealed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError
from zeroevidence.protect.assessment.attacker import training_environment
from zeroevidence.protect.assessment.number_learning import NumberSample
from zeroevidence.protect.assessment.numbers import MOST_CLASSES, attribute_numbers
from zeroevidence.protect.assessment.regressors.regressor import REGRESSORS
from zeroevidence.protect.assessment.roles import attribute_labels
from zeroevidence.protect.tradeoff.quick_attackers import quick_attacks

# of classes, and of numbers: how much a linear model learns from vectors of other people
KeptMeasure: TypeAlias = Literal["d_ece", "correlation"]


@dataclass(frozen=True, slots=True)
class KeptAttribute:
    """What a linear model learns of an attribute that nobody conceals, before and after protection."""

    name: str
    measure: KeptMeasure
    unprotected: float
    protected: float


def other_attributes(data: Embeddings, attribute: str, parts: int) -> Iterator[tuple[str, KeptMeasure]]:
    """Yield the other attributes of which every one of so many parts of the people can show something.

    An attribute that differs between the vectors of a person, or is not known of everybody, is left out.
    """
    assert data.speakers is not None
    for name in data.attributes:
        try:
            labels = attribute_labels(data, name)
        except InputError:
            continue
        classes = np.unique(labels)
        people = [len(np.unique(data.speakers[labels == label])) for label in classes]
        if name == attribute or len(classes) < 2:
            continue
        if len(classes) <= MOST_CLASSES:
            if min(people) >= 2 * parts:
                yield name, "d_ece"
        elif _is_number(data, name) and sum(people) >= 3 * parts:
            yield name, "correlation"


def kept_evidence(learned: Embeddings, tested: Embeddings, name: str, measure: KeptMeasure) -> float:
    """Return the D_ECE of logistic regression or, of a number, the correlation of ridge regression."""
    if measure == "d_ece":
        return quick_attacks(learned, tested, name, ["logistic"])["logistic"]
    sample, asked = (NumberSample.of(side, name) for side in (learned, tested))
    regressor = REGRESSORS.find("ridge").candidates(0)[0]
    with training_environment():
        regressor.fit(sample.x, sample.numbers[sample.people], sample.weights, sample.people)
        guesses, _ = regressor.predict(asked.x)
    truth = asked.numbers[asked.people]
    return float(np.corrcoef(guesses, truth)[0, 1]) if np.ptp(guesses) > 0.0 and np.ptp(truth) > 0.0 else 0.0


def _is_number(data: Embeddings, name: str) -> bool:
    try:
        attribute_numbers(data, name)
    except InputError:
        return False
    return True
