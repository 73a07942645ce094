"""McAdams against its definition, one frame at a time."""

import numpy as np
import pytest
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from zeroevidence.protect import McAdams
from zeroevidence.protect.voices.shift import linear_prediction, move_resonances, moved_poles


@pytest.fixture
def rows(voice):
    wave = voice.vowel((100.0, 140.0), seconds=1.0).astype(np.float64)
    return np.stack([wave[k * 1000 : k * 1000 + 320] for k in range(1, 7)]) * np.sqrt(np.hanning(320))


def test_prediction_solves_the_normal_equations(rows):
    for row, predictor in zip(rows, linear_prediction(rows, 20), strict=True):
        correlation = np.correlate(row, row, "full")[len(row) - 1 :][:21]
        correlation[0] *= 1 + 1e-9
        expected = solve_toeplitz(correlation[:20], -correlation[1:21])
        np.testing.assert_allclose(predictor[1:], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("power", [0.6, 0.8, 1.1])
def test_a_frame_equals_the_direct_computation(rows, power):
    for row, predictor, result in zip(rows, linear_prediction(rows, 20), move_resonances(rows, power, 20), strict=True):
        poles = np.roots(predictor)
        raised = np.abs(poles) * np.exp(
            1j * np.sign(np.angle(poles)) * np.minimum(np.abs(np.angle(poles)) ** power, np.pi)
        )
        moved = np.real(np.poly(np.where(poles.imag == 0, poles, raised)))
        expected = lfilter([1.0], moved, lfilter(predictor, [1.0], row))
        expected *= np.sqrt((row @ row) / (expected @ expected))
        np.testing.assert_allclose(result, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("power", [0.1, 0.5, 1.0, 1.5])
def test_filters_are_stable(rows, power):
    rng = np.random.default_rng(0)
    tones = np.sin(np.outer(np.linspace(0.001, 3.14, 50), np.arange(320))) * np.sqrt(np.hanning(320))
    rows = np.concatenate([rows, tones, rng.normal(size=(50, 320)), np.zeros((1, 320)), np.ones((1, 320))])
    for predictor in moved_poles(linear_prediction(rows, 20), power):
        reflections = []  # step-down recursion: all below one in size means every pole is inside the unit circle
        a = predictor.copy()
        while len(a) > 1:
            reflections.append(a[-1])
            if abs(a[-1]) >= 1:
                break
            a = (a[:-1] - a[-1] * a[:0:-1]) / (1 - a[-1] ** 2)
        # rounding of coefficients whose poles nearly coincide moves the last reflection, on some processors more
        assert np.abs(reflections).max() < 1 + 1e-4
    assert np.isfinite(move_resonances(rows, power, 20)).all()


@pytest.mark.parametrize("coefficient", [0.8, 0.9, 1.15])
def test_formants_follow_the_law_and_pitch_stays(coefficient, utterance, voice):
    rate = 16000
    wave = voice.vowel((90.0, 150.0), rate, 2.0)
    result = McAdams(coefficient)(wave, rate, utterance)
    angles = 2 * np.pi * np.array(voice.FORMANTS) / rate
    np.testing.assert_allclose(voice.formants_of(result, rate), angles**coefficient * rate / (2 * np.pi), rtol=0.04)
    steady = voice.vowel(120.0, rate)
    assert voice.pitch_of(McAdams(coefficient)(steady, rate, utterance), rate) == pytest.approx(120.0, rel=0.01)


def test_long_input_is_processed_in_blocks_without_seams(utterance, voice):
    """More than 1024 frames; away from the joint each part equals what it is alone."""
    wave = np.tile(voice.vowel((90.0, 150.0), seconds=1.0), 12)
    whole = McAdams(0.8)(wave, 16000, utterance).astype(np.float64)
    part = McAdams(0.8)(wave[:96000], 16000, utterance).astype(np.float64)
    ratio = (whole[:95000] @ part[:95000]) / (part[:95000] @ part[:95000])  # the energy is kept for each as a whole
    np.testing.assert_allclose(whole[:95000], ratio * part[:95000], atol=1e-4)
