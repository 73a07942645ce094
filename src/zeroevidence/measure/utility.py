"""Utility of protected speech: word errors, recall of classes such as emotions, length, pitch and opinion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.measure.measures import utility_measure

_error_measure = partial(utility_measure, unit="rate", better="down")


@dataclass(frozen=True, slots=True, eq=False)
class TranscriptView:
    """Numbers of errors of a speech recogniser, and of words that were spoken; of characters, with blanks, as well."""

    substitutions: float
    deletions: float
    insertions: float
    words: float
    character_errors: float
    characters: float


@dataclass(frozen=True, slots=True, eq=False)
class RecallView:
    """For each class, such as an emotion, how many recordings there are and how many were recognised."""

    right: FloatArray
    total: FloatArray


@_error_measure("wer", "WER", limits=(0.0, inf), place=10, headline=200, references=("morris2004",))
def _wer(view: object) -> float | None:
    """Word error rate: substituted, deleted and inserted words of a recogniser, over the words that were spoken."""
    if not isinstance(view, TranscriptView):
        return None
    return (view.substitutions + view.deletions + view.insertions) / view.words


@_error_measure("wer_substitutions", "substitutions", place=11, references=("morris2004",))
def _substitutions(view: object) -> float | None:
    """Words that were recognised as other words, over the words that were spoken."""
    return view.substitutions / view.words if isinstance(view, TranscriptView) else None


@_error_measure("wer_deletions", "deletions", place=12, references=("morris2004",))
def _deletions(view: object) -> float | None:
    """Words that were not recognised at all, over the words that were spoken."""
    return view.deletions / view.words if isinstance(view, TranscriptView) else None


@_error_measure("wer_insertions", "insertions", limits=(0.0, inf), place=13, references=("morris2004",))
def _insertions(view: object) -> float | None:
    """Words that were recognised but not spoken, over the words that were spoken."""
    return view.insertions / view.words if isinstance(view, TranscriptView) else None


@_error_measure("cer", "CER", limits=(0.0, inf), place=14, references=("morris2004",))
def _cer(view: object) -> float | None:
    """Character error rate: substituted, deleted and inserted characters, with blanks, over those that were spoken.

    For languages that are written without blanks, where a sentence is one word.
    """
    return view.character_errors / view.characters if isinstance(view, TranscriptView) else None


@utility_measure("uar", "UAR", unit="rate", place=20, headline=210, references=("schuller2009",), better="up")
def _uar(view: object) -> float | None:
    """Unweighted average recall: share of recordings whose class was recognised, averaged over the classes."""
    if not isinstance(view, RecallView) or not (view.total > 0).all():
        return None
    return float(np.mean(view.right / view.total))


@utility_measure("recall", "recall", unit="rate", place=21, headline=220, references=("schuller2009",), better="up")
def _recall(view: object) -> float | None:
    """Share of the recordings of one class, such as an emotion, that were recognised."""
    if not isinstance(view, RecallView) or len(view.total) != 1 or not view.total[0]:
        return None
    return float(view.right[0] / view.total[0])


@dataclass(frozen=True, slots=True, eq=False)
class LengthView:
    """By how much lengths differ from the originals', summed, and how long the originals are."""

    difference: float
    total: float


@_error_measure("length_difference", "length difference", limits=(0.0, inf), place=30, references=("tomashenko2024",))
def _length_difference(view: object) -> float | None:
    """Change of the length of utterances, over their original length."""
    return view.difference / view.total if isinstance(view, LengthView) else None


@dataclass(frozen=True, slots=True, eq=False)
class PitchView:
    """Correlations of pitch before and after, summed over utterances, and how many utterances have one."""

    correlations: float
    utterances: float


@utility_measure(
    "pitch_correlation",
    "pitch correlation",
    unit="fraction",
    limits=(-1.0, 1.0),
    place=40,
    headline=230,
    references=("tomashenko2022",),
    better="up",
)
def _pitch_correlation(view: object) -> float | None:
    """How far intonation is preserved: correlation of pitch before and after, averaged over utterances."""
    if not isinstance(view, PitchView) or not view.utterances:
        return None
    return view.correlations / view.utterances


@dataclass(frozen=True, slots=True, eq=False)
class OpinionView:
    """Predicted opinion scores, summed over recordings, how many there are, and by how much protection changed them."""

    scores: float
    recordings: float
    change: float | None = None


_opinion_measure = partial(utility_measure, unit="opinion", references=("stahl2025",), better="up")


@_opinion_measure("mos", "predicted MOS", limits=(1.0, 5.0), place=50, headline=240)
def _mos(view: object) -> float | None:
    """How free of noise and artefacts speech sounds, not how human: score from 1 (bad) to 5, as DistillMOS predicts."""
    return view.scores / view.recordings if isinstance(view, OpinionView) else None


@_opinion_measure("mos_change", "change of MOS", limits=(-4.0, 4.0), place=51, headline=250)
def _mos_change(view: object) -> float | None:
    """Predicted opinion score of protected speech over that of the original recording, on average."""
    return None if not isinstance(view, OpinionView) or view.change is None else view.change / view.recordings
