"""McAdams protector: moves resonances by raising the angles of LPC poles to a power [Patino et al. 2021].

J. Patino, N. Tomashenko, M. Todisco, A. Nautsch, N. Evans: Speaker anonymisation using the McAdams coefficient.
Interspeech 2021.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.voices import Spelling, register_voice
from zeroevidence.protect.voices.parameters import ParameterisedProtector, Per, number_or_range
from zeroevidence.protect.voices.processing import overlap_add

_RANDOM = (0.5, 0.9)  # coefficients of the reference's random variant
_HOP = 0.010  # seconds; frames of two hops
_NOISE_FLOOR = 1e-9  # of a frame's energy: keeps the predictor of pure tones determined
_LARGEST_RADIUS = 0.9999  # rounding must not put a pole on the unit circle


@dataclass(frozen=True, slots=True)
class McAdams(ParameterisedProtector):
    r"""Each complex pole :math:`\rho e^{i \phi}` of the frame's all-pole filter becomes :math:`\rho e^{i \phi^\alpha}`.

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

    def __post_init__(self) -> None:
        """Refuse what cannot be computed, before any audio is read."""
        if not 2 <= self.order <= 100:
            raise UsageError(f"mcadams: {self.order} poles are not between 2 and 100")
        self.parameter()

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return f"mcadams/{self.version}(coefficient={self.parameter().record}, order={self.order})"

    def _change(self, speech: FloatArray, value: float, rate: int) -> FloatArray:
        hop = round(rate * _HOP)
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
)
def mcadams_random(text: str, seed: int) -> McAdams:
    """Return the reference's random variant, which has no parameters."""
    if text:
        raise ValueError(f"expected nothing after mcadams-random, got {text!r}")
    return McAdams(_RANDOM, per="speaker", seed=seed)


def move_resonances(frames: FloatArray, power: float, order: int) -> FloatArray:
    """Return frames (rows) filtered by their predictor, and then by the synthesis filter with its poles moved."""
    predictor = linear_prediction(frames, order)
    moved = moved_poles(predictor, power)
    samples = np.ascontiguousarray(frames.T)  # time first: a step of the recursion is contiguous over frames
    size = len(samples)
    residual = samples.copy()
    for k in range(1, order + 1):
        residual[k:] += predictor[:, k] * samples[:-k]
    history = np.zeros((order + size, samples.shape[1]))
    latest_last = np.ascontiguousarray(moved[:, :0:-1].T)
    for n in range(size):
        history[order + n] = residual[n] - np.einsum("kf,kf->f", latest_last, history[n : n + order])
    result = history[order:]
    before = np.einsum("nf,nf->f", samples, samples)
    after = np.einsum("nf,nf->f", result, result)
    gain = np.sqrt(np.divide(before, after, out=np.ones_like(before), where=after > 0.0))
    moved_frames: FloatArray = (result * gain).T
    return moved_frames


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
    n_frames, order = len(predictor), predictor.shape[1] - 1
    companion = np.zeros((n_frames, order, order))
    companion[:, 0] = -predictor[:, 1:]
    companion[:, np.arange(1, order), np.arange(order - 1)] = 1.0
    poles = np.linalg.eigvals(companion).astype(np.complex128)
    angle = np.angle(poles)
    raised = np.sign(angle) * np.minimum(np.abs(angle) ** power, np.pi)
    radius = np.minimum(np.abs(poles), _LARGEST_RADIUS)
    moved = radius * np.exp(1j * np.where(poles.imag == 0.0, angle, raised))
    result = np.zeros((n_frames, order + 1), dtype=np.complex128)
    result[:, 0] = 1.0
    for k in range(order):
        result[:, 1 : k + 2] -= moved[:, k : k + 1] * result[:, : k + 1].copy()
    return result.real
