"""A cascade that keeps the timing: what the synthetic voice reads begins and pauses when the recording did."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.cues.speech_signal import HOP, SpeechSignal, runs
from zeroevidence.protect.voices import Spelling, register_voice
from zeroevidence.protect.voices.cascade import Cascade, cascade_names, cascade_parts
from zeroevidence.protect.voices.onevoice import HOP as CODE_HOP
from zeroevidence.protect.voices.onevoice import load_networks
from zeroevidence.protect.voices.processing import (
    UtteranceInfo,
    Wave,
    check_wave,
    fit_length,
    limit_peak,
    resampled,
    stretched,
)
from zeroevidence.protect.voices.speech_models import RATE

_VERSION = 1  # of what happens to the speech of the voice: enters cache keys
_SHORTEST = 10  # frames of 10 ms: a phrase of the synthetic speech
_SEARCHED = 12  # frames to either side of a pause, in which synthetic speech is cut where it is quietest
_PER_FRAME = 0.5  # dB that a frame further away must be quieter
_FASTEST, _SLOWEST = 0.5, 2.0  # how much synthetic speech is stretched
_FADE = 80  # samples at both ends of a phrase


@dataclass(frozen=True)
class TimedCascade(Cascade):
    """Speech to text to speech, each phrase as long as it was said.

    Phrases are what lies between pauses. Within one, the rate of the voice is even: of the timing, the output has the
    pauses and the lengths of phrases, and nothing finer.

    Examples
    --------
    >>> TimedCascade().name
    'timed-cascade:moonshine/hibari'
    """

    kind: ClassVar[str] = "timed-cascade"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return f"timed/{_VERSION}({super().fingerprint})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the text of the recording, read by the voice when it was said."""
        spoken = super().__call__(wave, rate, utterance)
        recording = resampled(check_wave(wave, rate, utterance), Fraction(RATE, rate))
        timed = keep_timing(recording / np.abs(recording).max(initial=1e-9), resampled(spoken, Fraction(RATE, rate)))
        return limit_peak(fit_length(resampled(timed, Fraction(rate, RATE)), max(len(wave), len(timed) * rate // RATE)))


@register_voice(
    "timed-cascade",
    "Recognises the words and lets a synthetic voice read them, with the pauses and phrases of the recording.",
    Spelling("timed-cascade", "with the pauses of the recording"),
    Spelling("timed-cascade:whisper/hibari"),
    keeps="Words as far as they are recognised, pauses and the length of phrases; the voice is that of a synthesiser.",
    needs="A speech recogniser and a synthetic voice, trained on speech of others.",
    parts=cascade_parts,
    leaves="timing",
    language="English",
)
def timed_cascade(text: str, _: int) -> TimedCascade:
    """Return the cascade of a recogniser and a voice that keeps the timing."""
    return TimedCascade(*cascade_names(text))


def keep_timing(recording: FloatArray, spoken: FloatArray) -> FloatArray:
    """Return synthetic speech whose phrases begin and end when they do in a recording of the same words (16 kHz).

    It is longer than the recording only where phrases cannot be spoken that fast.
    """
    starts, ends = runs(SpeechSignal(recording).speech)
    voice = SpeechSignal(spoken)
    voiced = np.flatnonzero(voice.speech)
    if not len(starts) or not len(voiced):
        return fit_length(spoken, max(len(recording), len(spoken)))
    networks, frames = load_networks(), CODE_HOP / HOP
    place = align(networks.vectors(recording), networks.vectors(spoken))
    begins, cuts, last = [starts[0]], [voiced[0]], voiced[-1] + 1
    stops = list[int]()
    for end, start in zip(ends[:-1], starts[1:], strict=True):
        codes = np.minimum((np.array([end, start]) / frames).astype(int), len(place) - 1)
        cut = _quietest(voice.levels, round(float(place[codes].mean()) * frames))
        if min(cut - cuts[-1], last - cut) >= _SHORTEST:
            begins, stops, cuts = [*begins, start], [*stops, end], [*cuts, cut]
    parts, position = [], 0
    for begin, stop, first, after in zip(begins, [*stops, ends[-1]], cuts, [*cuts[1:], last], strict=True):
        ratio = float(np.clip((stop - begin) / (after - first), _FASTEST, _SLOWEST))
        phrase = _faded(stretched(spoken[first * HOP : after * HOP], ratio, RATE))
        parts += [np.zeros(max(begin * HOP - position, 0)), phrase]
        position = max(begin * HOP, position) + len(phrase)
    return fit_length(np.concatenate(parts), max(len(recording), position))


def align(first: FloatArray, second: FloatArray) -> IntArray:
    """Return the row of the second vectors that each row of the first is laid on, by dynamic time warping.

    The sum of one minus the cosines along the path is the least.

    Examples
    --------
    >>> align(np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[0, 1, 1, 2]]).tolist()
    [0, 0, 2, 3]
    """
    first, second = (rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-9) for rows in (first, second))
    cost = 1.0 - first @ second.T
    total = np.full((len(first) + 1, len(second) + 1), np.inf)
    total[0, 0] = 0.0
    for row, costs in enumerate(cost):
        sums = np.cumsum(costs)  # of steps along the row; the best place to enter it is a running minimum
        entered = np.minimum(total[row, :-1], total[row, 1:]) - np.append(0.0, sums[:-1])
        total[row + 1, 1:] = sums + np.minimum.accumulate(entered)
    place, row, column = np.zeros(len(first), np.int64), len(first), len(second)
    while row:
        place[row - 1] = max(place[row - 1], column - 1)
        steps = ((row - 1, column - 1), (row - 1, column), (row, column - 1))
        row, column = min(steps, key=lambda step: total[step])
    return place


def _quietest(levels: FloatArray, frame: int) -> int:
    """Return the quietest frame near a frame; of two that are as quiet, the nearer one."""
    nearby = np.arange(max(frame - _SEARCHED, 0), min(frame + _SEARCHED + 1, len(levels)))
    return int(nearby[np.argmin(levels[nearby] + _PER_FRAME * np.abs(nearby - frame))]) if len(nearby) else frame


def _faded(wave: FloatArray) -> FloatArray:
    ramp = np.minimum((np.arange(len(wave)) + 0.5) / _FADE, 1.0)
    return wave * ramp * ramp[::-1]
