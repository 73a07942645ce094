"""Speech at another pitch: resampling against SciPy's, stretching by what it must keep, and what it costs to begin."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.signal import resample_poly

from tests.programs import modules_after
from zeroevidence.protect.voices.processing import repitched, resampled, stretched

RATE = 16000


@pytest.mark.parametrize("ratio", ["2", "3/2", "127/160", "1", "50/101"])
@pytest.mark.parametrize("length", [1, 2, 7, 100, 12345])
def test_resampling_is_that_of_scipy(ratio, length):
    wave = np.random.default_rng(0).normal(size=length)
    ratio = Fraction(ratio)
    expected = resample_poly(wave, ratio.numerator, ratio.denominator)
    np.testing.assert_allclose(resampled(wave, ratio), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.26, 2.0])
def test_a_tone_lasts_longer_at_its_pitch(ratio):
    n = np.arange(2 * RATE)
    long = stretched(np.sin(2 * np.pi * 200.0 * n / RATE), ratio, RATE)
    assert len(long) == np.ceil(ratio * len(n))
    middle = long[len(long) // 4 : -len(long) // 4]
    peak = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 8 * len(middle))).argmax()
    assert peak * RATE / (8 * len(middle)) == pytest.approx(200.0, abs=0.5)
    np.testing.assert_allclose(middle.std(), np.sqrt(0.5), rtol=0.01)


def test_pieces_where_they_are_give_the_speech_back():
    wave = np.random.default_rng(0).normal(size=9999)
    np.testing.assert_allclose(stretched(wave, 1.0, RATE), wave, atol=1e-12)
    np.testing.assert_allclose(repitched(wave, Fraction(1), RATE), wave, atol=1e-12)


def test_silence_moves_by_the_ratio():
    """Where nothing is like anything, pieces are taken where the speed asks for them."""
    wave = np.zeros(2 * RATE)
    wave[RATE : RATE + 1600] = np.random.default_rng(0).normal(size=1600)
    loud = np.flatnonzero(np.abs(stretched(wave, 1.5, RATE)) > 0.1)
    assert loud[0] / RATE == pytest.approx(1.5, abs=0.025)
    assert loud[-1] / RATE == pytest.approx(1.65, abs=0.025)


def test_nothing_large_is_imported_on_the_first_call():
    """SciPy's signal processing alone takes twenty times as long to import as an utterance to protect."""
    code = """
from types import SimpleNamespace
import numpy as np
from zeroevidence.protect import load_protector
load_protector("mcadams+pitch:-3.3")(np.sin(np.arange(8000) / 20.0), 16000, SimpleNamespace(id="u", speaker="s"))
"""
    assert not {"scipy.signal", "scipy.stats", "sklearn", "torch"} & modules_after(code)
