"""Protectors that shift resonances (McAdams), pitch or formants by signal processing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy  # whose parts are imported when they are used, which takes a third of a second
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.voices import ParameterisedProtector, Per, Spelling, number_or_range, register_voice
from zeroevidence.protect.voices.processing import overlap_add, repitched

_RANDOM = (0.5, 0.9)  # coefficients of the reference's random variant
_FRAME_HOP = 0.010  # seconds; frames of two hops
_NOISE_FLOOR = 1e-9  # of a frame's energy: keeps the predictor of pure tones determined
_LARGEST_RADIUS = 0.9999  # rounding must not put a pole on the unit circle
_REAL = 1e-8  # imaginary part below which a pole is real: two that are equal are computed no better
_FIRST_RADIUS, _ASYMMETRY = 0.9, 0.66  # of first guesses; were they symmetric, no real pole would be found
_ROUGH_STEPS, _FINE_STEPS = 7, 8
_SMALL_STEP = 1e-7  # more than rounding, and its third power is less


@dataclass(frozen=True, slots=True)
class McAdams(ParameterisedProtector):
    r"""Each complex pole :math:`\rho e^{i \phi}` of the frame's all-pole filter becomes :math:`\rho e^{i \phi^\alpha}`.

    J. Patino, N. Tomashenko, M. Todisco, A. Nautsch, N. Evans: Speaker anonymisation using the McAdams coefficient.
    Interspeech 2021.

    Angles are in radians per sample. One radian (2546 Hz at 16 kHz) stays where it is; with :math:`\alpha < 1`
    resonances below it rise and those above it fall. Real poles and the residual do not change, nor does the pitch,
    which is in the residual. Every frame keeps its energy.

    Parameters
    ----------
    coefficient
        The power, or a range from which each speaker gets a power; 1 changes nothing.
    per
        With a range: whether each speaker (default) or each utterance gets its own power.
    seed
        Decides the powers drawn from a range.
    order
        Number of poles.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from zeroevidence.protect import McAdams
    >>> wave = np.sin(np.arange(1600) / 10.0).astype(np.float32)
    >>> protected = McAdams(0.8)(wave, 16000, SimpleNamespace(id="u1", speaker="ada"))
    >>> protected.shape, protected.dtype.name
    ((1600,), 'float32')
    """

    coefficient: float | tuple[float, float] = 0.8
    per: Per | None = None
    seed: int = 0
    order: int = 20

    kind = "mcadams"
    parameter_name = "coefficient"
    limits = (0.1, 1.5)
    version = 2

    def __post_init__(self) -> None:
        """Refuse what cannot be computed, before any audio is read."""
        if not 2 <= self.order <= 100:
            raise UsageError(f"mcadams: {self.order} poles are not between 2 and 100")
        ParameterisedProtector.__post_init__(self)

    @property
    def _further(self) -> str:
        return f", order={self.order}"

    def _change(self, speech: FloatArray, value: float, rate: int) -> FloatArray:
        hop = round(rate * _FRAME_HOP)
        return overlap_add((speech,), hop, 2, lambda frames: move_resonances(frames, value, self.order))


_KEEPS = "Words, rate, pitch and pauses; the timbre changes."
_NEEDS = "No training, and no speech of others."


@register_voice(
    "mcadams",
    "Moves the resonances of the vocal tract.",
    Spelling("mcadams", "coefficient 0.8"),
    Spelling("mcadams:0.7"),
    Spelling("mcadams:0.5..0.9", "one per speaker"),
    keeps=_KEEPS,
    needs=_NEEDS,
    leaves="voice",
)
def mcadams(text: str, seed: int) -> McAdams:
    """Return the protector of a coefficient, or of a range."""
    return McAdams(*number_or_range(text), seed) if text else McAdams()


@register_voice(
    "mcadams-random",
    "Moves the resonances of the vocal tract, for each speaker in another way.",
    Spelling("mcadams-random", "the same"),
    keeps=_KEEPS,
    needs=_NEEDS,
    leaves="voice",
)
def mcadams_random(text: str, seed: int) -> McAdams:
    """Return the reference's random variant, which has no parameters."""
    if text:
        raise ValueError(f"expected nothing after mcadams-random, got {text!r}")
    return McAdams(_RANDOM, per="speaker", seed=seed)


def move_resonances(frames: FloatArray, power: float, order: int) -> FloatArray:
    """Return frames (rows) filtered by their predictor, and then by the synthesis filter with its poles moved."""
    predictor = linear_prediction(frames, order)
    size, filters = frames.shape[1], np.stack([predictor, -moved_poles(predictor, power)])
    # Input and output with time first, so that a step of the recursion is contiguous over frames.
    signals = np.zeros((order + size, 2, len(frames)))
    signals[order:, 0] = frames.T
    taps = np.ascontiguousarray(filters[:, :, ::-1].transpose(2, 0, 1))  # the latest last, where the output is still 0
    for n in range(size):
        np.einsum("kcf,kcf->f", taps, signals[n : n + order + 1], out=signals[order + n, 1])
    samples, result = signals[order:, 0], signals[order:, 1]
    before = np.einsum("nf,nf->f", samples, samples)
    after = np.einsum("nf,nf->f", result, result)
    gain = np.sqrt(np.divide(before, after, out=np.ones_like(before), where=after > 0.0))
    return np.asarray((result * gain).T)


def linear_prediction(frames: FloatArray, order: int) -> FloatArray:
    """Return coefficients (1, a_1, ..., a_order) of each row's prediction error filter, by Levinson's recursion."""
    size = frames.shape[1]
    correlation = np.zeros((len(frames), order + 1))
    for lag in range(min(order + 1, size)):
        correlation[:, lag] = np.einsum("fn,fn->f", frames[:, lag:], frames[:, : size - lag])
    energy = correlation[:, :1]
    correlation = np.divide(correlation, energy, out=np.zeros_like(correlation), where=energy > 0.0)
    correlation[:, 0] = 1.0 + _NOISE_FLOOR  # silence gets the filter that does nothing
    predictor = np.zeros_like(correlation)
    predictor[:, 0] = 1.0
    error = correlation[:, 0].copy()
    for k in range(1, order + 1):
        reflection = -np.einsum("fk,fk->f", predictor[:, :k], correlation[:, k:0:-1]) / error
        predictor[:, 1 : k + 1] += reflection[:, None] * predictor[:, k - 1 :: -1][:, :k]
        error *= 1.0 - reflection**2
    return predictor


def moved_poles(predictor: FloatArray, power: float) -> FloatArray:
    """Return predictors (rows) with the angles of their complex roots raised to a power; they stay stable."""
    poles = polynomial_roots(predictor)
    angle = np.angle(poles)
    raised = np.where(np.abs(poles.imag) < _REAL, angle, np.sign(angle) * np.minimum(np.abs(angle) ** power, np.pi))
    moved = np.minimum(np.abs(poles), _LARGEST_RADIUS) * np.exp(1j * raised)
    result = np.zeros((len(moved) + 1, len(predictor)), dtype=np.complex128)
    result[0] = 1.0
    for k, root in enumerate(moved):
        result[1 : k + 2] -= root * result[: k + 1]
    return result.real.T


def polynomial_roots(coefficients: FloatArray) -> NDArray[np.complex128]:
    """Return the roots (roots x polynomials) of polynomials (rows) whose first coefficient is 1.

    All roots of all polynomials are improved at once, as O. Aberth: Iteration methods for finding all zeros of a
    polynomial simultaneously (1973) does: first in single precision, and then until the error, which each step brings
    to its third power, is that of rounding. That takes a third of the time of eigenvalues of companion matrices, which
    are left for the few polynomials whose roots are too close to one another.
    """
    order = coefficients.shape[1] - 1
    columns = np.ascontiguousarray(coefficients.T)
    begin = _FIRST_RADIUS * np.exp(2j * np.pi * (np.arange(order) + _ASYMMETRY) / order)
    rough = np.repeat(begin[:, None].astype(np.complex64), len(coefficients), axis=1)
    left = np.arange(len(coefficients))
    with np.errstate(all="ignore"):  # roots that meet divide by zero, and are left
        for _ in range(_ROUGH_STEPS):
            rough -= _aberth_step(columns.astype(np.float32), rough)
        roots = rough.astype(np.complex128)
        for _ in range(_FINE_STEPS):
            step = _aberth_step(columns[:, left], roots[:, left])
            roots[:, left] -= step
            left = left[~(np.abs(step).max(axis=0) < _SMALL_STEP)]
            if not len(left):
                return roots
    companion = np.zeros((len(left), order, order))
    companion[:, 0] = -coefficients[left, 1:]
    companion[:, np.arange(1, order), np.arange(order - 1)] = 1.0
    roots[:, left] = np.linalg.eigvals(companion).T
    return roots


def _aberth_step(columns: FloatArray, roots: NDArray[np.complexfloating]) -> NDArray[np.complexfloating]:
    """Return Newton's step of each root, for the polynomial divided by the factors of all others."""
    value, slope, repulsion = np.ones_like(roots), np.zeros_like(roots), np.zeros_like(roots)
    for coefficient in columns[1:]:
        slope *= roots
        slope += value
        value *= roots
        value += coefficient
    for apart in range(1, len(roots)):
        inverse = np.reciprocal(roots[apart:] - roots[:-apart])
        repulsion[apart:] += inverse
        repulsion[:-apart] -= inverse
    return np.asarray(value / (slope - value * repulsion))


_HOP = 0.010  # seconds; spectra of four hops, which resolve the harmonics of a low voice
_PERIODS = (0.0025, 0.0125)  # seconds: voices from 80 to 400 Hz
_LIFTER = (0.0015, 0.0045)  # seconds: how fine an envelope may be, from high to low voices
_ROUNDS = 12  # of the true envelope
_PRODUCT = 2**18  # multiplications: larger products OpenBLAS spreads over cores, which wait for one another
_LARGEST_GAIN = 3.5  # natural log, 30 dB: envelopes are uncertain where there is nothing but noise
_FLOOR = 1e-6  # of a frame's largest amplitude: digital silence has a logarithm


@dataclass(frozen=True, slots=True)
class PitchShift(ParameterisedProtector):
    """Moves the pitch by semitones; formants and timing stay.

    After a shift down, the band above ``2 ** (semitones / 12)`` of half the sampling rate is nearly empty.

    Parameters
    ----------
    semitones
        How far, or a range from which each speaker gets a number; 0 changes (nearly) nothing.
    per
        With a range: whether a speaker (default) or an utterance gets its own number.
    seed
        Decides the numbers drawn from a range.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from zeroevidence.protect import PitchShift
    >>> wave = np.sin(np.arange(1600) / 10.0).astype(np.float32)
    >>> shift = PitchShift((-4.0, 4.0), per="utterance")
    >>> shift(wave, 16000, SimpleNamespace(id="u1", speaker="ada")).shape
    (1600,)
    >>> shift.name
    'pitch:-4..4:utterance'
    """

    semitones: float | tuple[float, float] = 4.0
    per: Per | None = None
    seed: int = 0

    kind = "pitch"
    parameter_name = "semitones"
    limits = (-12.0, 12.0)

    def _change(self, speech: FloatArray, value: float, rate: int) -> FloatArray:
        ratio = Fraction(2.0 ** (value / 12.0)).limit_denominator(128)

        def with_envelope(model_frames: FloatArray, frames: FloatArray) -> FloatArray:
            spectrum = scipy.fft.rfft(frames, axis=1)
            model_envelope, envelope = log_envelopes(scipy.fft.rfft(model_frames, axis=1), spectrum, rate=rate)
            return _filtered(spectrum, model_envelope - envelope)

        return overlap_add((speech, repitched(speech, ratio, rate)), round(rate * _HOP), 4, with_envelope)


@dataclass(frozen=True, slots=True)
class FormantShift(ParameterisedProtector):
    """Moves the formants by a ratio, as if the vocal tract were shorter (above 1) or longer; pitch and timing stay.

    Parameters
    ----------
    ratio
        By which formant frequencies are multiplied, or a range from which each speaker gets a ratio; 1 changes nothing.
    per
        With a range: whether a speaker (default) or an utterance gets its own ratio.
    seed
        Decides the ratios drawn from a range.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from zeroevidence.protect import FormantShift
    >>> wave = np.sin(np.arange(1600) / 10.0).astype(np.float32)
    >>> FormantShift(1.2)(wave, 16000, SimpleNamespace(id="u1", speaker="ada")).shape
    (1600,)
    """

    ratio: float | tuple[float, float] = 1.2
    per: Per | None = None
    seed: int = 0

    kind = "formant"
    parameter_name = "ratio"
    limits = (0.5, 2.0)

    def _change(self, speech: FloatArray, value: float, rate: int) -> FloatArray:
        def with_envelope_stretched(frames: FloatArray) -> FloatArray:
            spectrum = scipy.fft.rfft(frames, axis=1)
            (envelope,) = log_envelopes(spectrum, rate=rate)
            last = spectrum.shape[1] - 1
            source = np.minimum(np.arange(last + 1) / value, last)
            below = np.minimum(source.astype(np.int64), last - 1)
            part = (source - below).astype(np.float32)
            lower, upper = (envelope.take(at, axis=1) for at in (below, below + 1))
            stretched = lower + (upper - lower) * part
            return _filtered(spectrum, stretched - envelope)

        return overlap_add((speech,), round(rate * _HOP), 4, with_envelope_stretched)


@register_voice(
    "pitch",
    "Moves the pitch; formants stay.",
    Spelling("pitch:4", "semitones"),
    Spelling("pitch:-4..4"),
    keeps="Words, rate, pauses and the shape of the vocal tract.",
    needs="No training, and no speech of others.",
    leaves="voice",
)
def pitch(text: str, seed: int) -> PitchShift:
    """Return the protector of a number of semitones, or of a range."""
    return PitchShift(*number_or_range(text), seed)


@register_voice(
    "formant",
    "Moves the formants; the pitch stays.",
    Spelling("formant:1.2", "ratio"),
    Spelling("formant:0.8..1.25"),
    keeps="Words, rate, pauses and pitch.",
    needs="No training, and no speech of others.",
    leaves="voice",
)
def formant(text: str, seed: int) -> FormantShift:
    """Return the protector of a ratio, or of a range."""
    return FormantShift(*number_or_range(text), seed)


def log_envelopes(*spectra: NDArray[np.complex128], rate: int) -> list[NDArray[np.float32]]:
    """Return the natural log of the true envelope of each row of spectra (non-negative frequencies) of the same frames.

    Pitch: the waveform is stretched in time, resampled to its former length, and given back its spectral envelope.
    Formants: the spectral envelope is stretched in frequency. The envelope is the true envelope: cepstral smoothing
    that follows the harmonics and not the valleys between them [Röbel & Rodet 2005].

    It is a curve of few cepstral coefficients that touches the peaks: smooth the spectrum, raise it to the smooth curve
    wherever it lies below, repeat. Harmonics show an envelope no finer than half a period of the voice, which is found
    by its peak in the cepstrum. Envelopes of the same frames are equally fine, and in single precision.
    """
    logs = np.concatenate([_log_amplitude(spectrum) for spectrum in spectra])
    shortest, longest = (round(rate * seconds) for seconds in _PERIODS)
    cepstra = scipy.fft.dct(logs, type=1, axis=1)
    periods = shortest + cepstra[:, shortest:longest].argmax(axis=1).reshape(len(spectra), -1)
    coarsest, finest = (round(rate * seconds) for seconds in _LIFTER)
    orders = np.clip(periods.min(axis=0) // 2, coarsest, finest)
    return np.split(_touching(logs, np.tile(orders, len(spectra)), finest + 1), len(spectra))


def _log_amplitude(spectrum: NDArray[np.complex128]) -> NDArray[np.float32]:
    narrow = spectrum.astype(np.complex64)
    power = narrow.real**2 + narrow.imag**2
    floor = np.maximum(_FLOOR**2 * power.max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return np.asarray(0.5 * np.log(np.maximum(power, floor)), np.float32)


def _touching(log_amplitude: NDArray[np.float32], orders: IntArray, count: int) -> NDArray[np.float32]:
    """Return the curve through the peaks of each row, of an odd number of bins.

    So few coefficients are kept that products with their cosines are faster than Fourier transforms. Even cosines are
    the same from either end of the bins and odd ones the opposite, so each product is over half of the bins. Rows that
    keep about as many coefficients are taken together, the finest first.
    """
    result, bins = np.empty_like(log_amplitude), log_amplitude.shape[1]
    cosines, half = _cosines(bins, count), bins // 2 + 1
    by_order = np.argsort(-orders, kind="stable")
    start = 0
    while start < len(by_order):
        most = int(orders[by_order[start]]) + 1
        rows = by_order[start : start + max(2 * _PRODUCT // (most * half), 1)]
        start += len(rows)
        kept = (np.arange(most) <= orders[rows, None]).astype(np.float32)
        parts = [
            (analysis[:, : (most + 1 - odd) // 2], kept[:, odd::2], synthesis[: (most + 1 - odd) // 2])
            for odd, (analysis, synthesis) in enumerate(cosines)
        ]
        lower, upper = left, right = log_amplitude[rows, :half], log_amplitude[rows, : half - 2 : -1]
        for _ in range(_ROUNDS):
            left, right = np.maximum(lower, left), np.maximum(upper, right)
            even, odd = (
                (folded @ analysis * coefficients) @ synthesis
                for folded, (analysis, coefficients, synthesis) in zip((left + right, left - right), parts, strict=True)
            )
            left, right = np.add(even, odd), np.subtract(even, odd)
        result[rows, :half], result[rows, : half - 2 : -1] = left, right
    return result


@lru_cache(maxsize=8)
def _cosines(bins: int, count: int) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return matrices from bins (rows) to cepstral coefficients and back, of the even and of the odd ones.

    The bins are those up to the middle one, the first of them with the sum or difference of itself and its opposite.
    """
    half = bins // 2 + 1
    cosine = np.cos(np.pi / (bins - 1) * np.outer(np.arange(half), np.arange(count)))
    twice = np.where(np.arange(count) == 0, 1.0, 2.0)[:, None]
    # the ends weigh half, the middle is added twice
    once = np.where(np.arange(half) % (half - 1) == 0, 0.5, 1.0)[:, None]
    matrices = once * cosine / (bins - 1), (twice * cosine.T)
    both = [(matrices[0][:, odd::2], matrices[1][odd::2]) for odd in (0, 1)]
    return [(np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32)) for a, b in both]


def _filtered(spectrum: NDArray[np.complex128], log_gain: NDArray[np.float32]) -> FloatArray:
    gain = np.exp(np.clip(log_gain, -_LARGEST_GAIN, _LARGEST_GAIN))
    changed = spectrum.view(np.float64).reshape(*spectrum.shape, 2) * gain[..., None]
    return scipy.fft.irfft(changed.view(np.complex128)[..., 0], 2 * (spectrum.shape[1] - 1), axis=1)
