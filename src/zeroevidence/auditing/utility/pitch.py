"""Utility: correlation of the pitch of original and anonymised speech."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.speech_signal import RATE, SpeechSignal
from zeroevidence.data.speech.audio import load_speech
from zeroevidence.data.speech.corpus import Corpus
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.evaluation.scores.utility import UtilityRowSettings, utility_row, utterance_pairs, who_speaks
from zeroevidence.measure.utility import PitchView
from zeroevidence.uncertainty.resampling.draws import Progress

_FEWEST = 20  # frames of 10 ms with a voice on both sides, from which a correlation is computed


def evaluate_pitch(
    original: Corpus,
    anonymised: Corpus,
    *,
    labels: Mapping[str, str] | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Return the correlation of pitch before and after anonymisation, with an interval by speaker.

    Parameters
    ----------
    original
        The original utterances.
    anonymised
        The same utterances; those with less than 0.2 s of voice in common are left out.
    labels
        As in `evaluate_transcripts`.
    options
        As in `evaluate_transcripts`.
    progress
        Called with the number of utterances done and of all.

    Raises
    ------
    InputError
        When no utterance has enough voice.
    """
    pairs = utterance_pairs(original, anonymised)
    correlations = np.full(len(pairs), np.nan)
    for place, both in enumerate(pairs):
        tracks = [SpeechSignal(load_speech(utterance, RATE).wave).pitch for utterance in both]
        correlations[place] = pitch_correlation(*tracks)
        if progress is not None:
            progress(place + 1, len(pairs))
    rows = np.flatnonzero(~np.isnan(correlations))
    if not len(rows):
        raise InputError("no utterance has enough voice in both corpora; expected speech whose pitch can be followed")
    speakers = {before.id: before.speaker for before, _ in pairs}
    names = [pairs[place][0].id for place in rows]
    columns = np.stack((correlations[rows], np.ones(len(rows))), axis=1)
    how = UtilityRowSettings(labels or {}, "anonymised", options or Options())
    counts = {"utterances": len(rows)}
    return utility_row(columns, columns[:, 1], lambda sums: PitchView(*sums), who_speaks(names, speakers), counts, how)


def pitch_correlation(original: FloatArray, anonymised: FloatArray) -> float:
    """Return the correlation of two tracks where both have a voice; the second is stretched to the length of the first.

    NaN where there is too little voice, or a pitch that does not move at all.

    Examples
    --------
    >>> melody = 120.0 + 20.0 * np.sin(np.arange(60) / 9.0)
    >>> round(pitch_correlation(melody, 1.5 * melody), 6)
    1.0
    >>> round(pitch_correlation(melody, 240.0 - melody), 6)
    -1.0
    """
    if not len(original) or not len(anonymised):
        return np.nan
    at = np.round(np.linspace(0.0, len(anonymised) - 1.0, len(original))).astype(np.int64)
    first, second = original, anonymised[at]
    both = ~np.isnan(first) & ~np.isnan(second)
    if both.sum() < _FEWEST or not first[both].std() or not second[both].std():
        return np.nan
    return float(np.corrcoef(first[both], second[both])[0, 1])
