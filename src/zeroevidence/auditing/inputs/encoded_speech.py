"""Original and anonymised speech as embedded by one encoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets, check_pair
from zeroevidence.auditing.learning_curve import LearningCurve
from zeroevidence.data.threat import Material, ThreatModel, Training
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True)
class FineTuningHistory:
    """How an encoder was fine-tuned on anonymised speech.

    Parameters
    ----------
    people
        Number of training people.
    recordings
        Number of their recordings.
    epochs
        Passes over them.
    over_people
        Disclosure of development people to encoders that were trained on fewer people.
    over_epochs
        Disclosure to encoders that were trained for fewer epochs.
    """

    people: int
    recordings: int
    epochs: int
    over_people: LearningCurve | None = None
    over_epochs: LearningCurve | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSpeech:
    """Original and anonymised speech as embedded by one encoder.

    Parameters
    ----------
    name
        What results call the encoder.
    original
        Embeddings before protection; without them, only attackers who need none can use the encoder.
    anonymised
        Embeddings of the same people after protection.
    trained_on
        What the encoder learned from; one that was fine-tuned on anonymised speech attacks only as semi-informed.
    steps
        Steps of the ladder to try; all unless given.
    learned
        How it was fine-tuned, where that is known.
    part_of
        The encoder whose vectors contain these; attackers with a part are not fused beside those with the whole.
    """

    name: str
    original: EmbeddingSets | None
    anonymised: EmbeddingSets
    trained_on: Training = "original"
    steps: tuple[str, ...] = ()
    learned: FineTuningHistory | None = None
    part_of: str | None = None

    def __post_init__(self) -> None:
        if self.original is not None:
            check_pair(self.original, self.anonymised)

    def sides(self) -> dict[Material, EmbeddingSets]:
        """Return the sets by the side of a comparison."""
        anonymised: dict[Material, EmbeddingSets] = {"anonymised": self.anonymised}
        return anonymised if self.original is None else {"original": self.original, **anonymised}

    def serves(self, model: ThreatModel, step: str) -> bool:
        """Return whether an attacker can use it at a step of the ladder."""
        needs = required_speech(model) - {"noise"}
        fits = self.trained_on == "original" or model.trained_on == "anonymised"
        return fits and needs <= set(self.sides()) and (not self.steps or step in self.steps)


def required_speech(model: ThreatModel) -> set[Material]:
    """Return the kinds of speech that an attacker needs."""
    return {model.enrolment, model.trial, model.trained_on, *model.development}


def check_same_people(encoders: list[EncodedSpeech]) -> None:
    """Refuse encoders that were not given the same utterances: their scores could not be fused."""
    first = encoders[0]
    for other in encoders[1:]:
        for side, sets in other.sides().items():
            for name, part in sets.parts().items():
                here = first.sides()[side].parts()[name]
                if not np.array_equal(np.sort(here.ids), np.sort(part.ids)):
                    raise InputError(f"{other.name} and {first.name} embed other utterances ({side}, {name})")
