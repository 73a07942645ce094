"""What protected speech is still good for: words that recognisers get wrong, emotions that classifiers get right."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.measure.measures import measure


@dataclass(frozen=True, slots=True, eq=False)
class TranscriptView:
    """Errors of a recogniser, and the words that were said."""

    substitutions: float
    deletions: float
    insertions: float
    words: float


@dataclass(frozen=True, slots=True, eq=False)
class RecallView:
    """For each class, such as an emotion, how many recordings there are and how many were recognised."""

    right: FloatArray
    total: FloatArray


@measure(
    "wer",
    "WER",
    family="utility",
    unit="rate",
    range=(0.0, inf),
    discloses="none",
    better="down",
    meaning="Word error rate: wrong, lost and added words of a recogniser, over the words that were said.",
    references=("morris2004",),
    place=10,
    headline=200,
)
def _wer(view: object) -> float | None:
    if not isinstance(view, TranscriptView):
        return None
    return (view.substitutions + view.deletions + view.insertions) / view.words


@measure(
    "wer_substitutions",
    "wrong words",
    family="utility",
    unit="rate",
    range=(0.0, 1.0),
    discloses="none",
    better="down",
    meaning="Words that were taken for others, over the words that were said.",
    references=("morris2004",),
    place=11,
)
def _substitutions(view: object) -> float | None:
    return view.substitutions / view.words if isinstance(view, TranscriptView) else None


@measure(
    "wer_deletions",
    "lost words",
    family="utility",
    unit="rate",
    range=(0.0, 1.0),
    discloses="none",
    better="down",
    meaning="Words that were not recognised at all, over the words that were said.",
    references=("morris2004",),
    place=12,
)
def _deletions(view: object) -> float | None:
    return view.deletions / view.words if isinstance(view, TranscriptView) else None


@measure(
    "wer_insertions",
    "added words",
    family="utility",
    unit="rate",
    range=(0.0, inf),
    discloses="none",
    better="down",
    meaning="Words that nobody said, over the words that were said.",
    references=("morris2004",),
    place=13,
)
def _insertions(view: object) -> float | None:
    return view.insertions / view.words if isinstance(view, TranscriptView) else None


@measure(
    "uar",
    "UAR",
    family="utility",
    unit="rate",
    range=(0.0, 1.0),
    discloses="none",
    better="up",
    meaning="Unweighted average recall: the share of recordings whose class, such as an emotion, was recognised, "
    "averaged over the classes.",
    references=("schuller2009",),
    place=20,
    headline=210,
)
def _uar(view: object) -> float | None:
    if not isinstance(view, RecallView) or not (view.total > 0).all():
        return None
    return float(np.mean(view.right / view.total))


@measure(
    "recall",
    "recall",
    family="utility",
    unit="rate",
    range=(0.0, 1.0),
    discloses="none",
    better="up",
    meaning="Share of the recordings of one class, such as an emotion, that were recognised.",
    references=("schuller2009",),
    place=21,
    headline=220,
)
def _recall(view: object) -> float | None:
    if not isinstance(view, RecallView) or len(view.total) != 1 or not view.total[0]:
        return None
    return float(view.right[0] / view.total[0])


@dataclass(frozen=True, slots=True, eq=False)
class LengthView:
    """By how much lengths differ from the originals', summed, and how long the originals are."""

    difference: float
    total: float


@measure(
    "length_difference",
    "length difference",
    family="utility",
    unit="fraction",
    range=(0.0, inf),
    discloses="none",
    better="down",
    meaning="How much longer or shorter utterances became, over how long they were.",
    references=("tomashenko2024",),
    place=30,
)
def _length_difference(view: object) -> float | None:
    return view.difference / view.total if isinstance(view, LengthView) else None


@dataclass(frozen=True, slots=True, eq=False)
class PitchView:
    """Correlations of pitch before and after, summed over utterances, and how many utterances have one."""

    correlations: float
    utterances: float


@measure(
    "pitch_correlation",
    "pitch correlation",
    family="utility",
    unit="fraction",
    range=(-1.0, 1.0),
    discloses="none",
    better="up",
    meaning="How far the melody of speech is kept: correlation of pitch before and after, averaged over utterances.",
    references=("tomashenko2022",),
    place=40,
    headline=230,
)
def _pitch_correlation(view: object) -> float | None:
    if not isinstance(view, PitchView) or not view.utterances:
        return None
    return view.correlations / view.utterances
