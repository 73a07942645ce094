"""What each encoder makes of both kinds of speech."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.auditing.attacks.learning_curve import LearningCurve
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets, check_pair
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.threat import Material, ThreatModel, Training
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True)
class FineTuningHistory:
    """How an encoder was fine-tuned on anonymised speech.

    Parameters
    ----------
    people, recordings
        Whom it learned from, and how many recordings of theirs.
    epochs
        Passes over them.
    over_people, over_epochs
        What development people disclose to encoders that learned from fewer people, or for fewer epochs.
    """

    people: int
    recordings: int
    epochs: int
    over_people: LearningCurve | None = None
    over_epochs: LearningCurve | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSpeech:
    """Original and anonymised speech as one encoder sees it.

    Parameters
    ----------
    name
        What results call the encoder.
    original, anonymised
        Embeddings of the same people before and after protection; without the first, attackers who need none use it.
    trained_on
        What the encoder learned from; one that was fine-tuned on anonymised speech attacks only as semi-informed.
    steps
        Steps of the ladder to try; all unless given.
    learned
        How it was fine-tuned, where that is known.
    """

    name: str
    original: EmbeddingSets | None
    anonymised: EmbeddingSets
    trained_on: Training = "original"
    steps: tuple[str, ...] = ()
    learned: FineTuningHistory | None = None

    def __post_init__(self) -> None:
        if self.original is not None:
            check_pair(self.original, self.anonymised)

    def sides(self) -> dict[Material, EmbeddingSets]:
        """The sets by the side of a comparison."""
        found: dict[Material, EmbeddingSets] = {"anonymised": self.anonymised}
        return found if self.original is None else {"original": self.original, **found}

    def serves(self, model: ThreatModel, step: str) -> bool:
        """Whether an attacker can use it at a step of the ladder."""
        needs = {model.enrolment, model.trial, model.trained_on, *model.development} - {"noise"}
        fits = self.trained_on == "original" or model.trained_on == "anonymised"
        return fits and needs <= set(self.sides()) and (not self.steps or step in self.steps)


def check_same_people(encoders: list[EncodedSpeech]) -> None:
    """Refuse encoders that were not given the same utterances: their scores could not be fused."""
    first = encoders[0]
    for other in encoders[1:]:
        for side, sets in other.sides().items():
            for name, part in sets.parts().items():
                here = first.sides()[side].parts()[name]
                if not np.array_equal(np.sort(here.ids), np.sort(part.ids)):
                    raise InputError(f"{other.name} and {first.name} embed other utterances ({side}, {name})")


def shared_change(encoded: EncodedSpeech) -> float:
    """Share of what the protection changes that is common to one person's recordings, over what chance would give.

    Near 0 where each recording is changed by itself, near 1 where a person's recordings are all changed alike. It is
    the intraclass correlation of the differences between protected and original embeddings of the evaluated trials.
    """
    if encoded.original is None:
        return 0.0
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
    return y[there] - x[here], require_speakers(before)[here]
