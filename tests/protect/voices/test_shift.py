"""Resonances, pitch and formants move by what was asked, and one without the other."""

import numpy as np
import pytest
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from tests.effort import spread
from zeroevidence.protect import FormantShift, McAdams, PitchShift
from zeroevidence.protect.voices.shift import (
    linear_prediction,
    log_envelopes,
    move_resonances,
    moved_poles,
    polynomial_roots,
)

RATES = [8000, 44100, 16000]


@pytest.mark.parametrize("rate", spread(RATES, quick=2))
@pytest.mark.parametrize("semitones", spread([-5.0, 3.0, 6.0], quick=2))
def test_pitch_moves_and_formants_stay(rate, semitones, utterance, voice):
    shift = PitchShift(semitones)
    result = shift(voice.vowel(120.0, rate), rate, utterance)
    assert voice.pitch_of(result, rate) == pytest.approx(120.0 * 2 ** (semitones / 12), rel=0.005)
    glide = shift(voice.vowel((100.0, 150.0), rate, 2.0), rate, utterance)
    np.testing.assert_allclose(voice.formants_of(glide, rate), voice.FORMANTS, rtol=0.04)


@pytest.mark.parametrize(("f0", "semitones"), [(85.0, 4.0), (85.0, 12.0), (160.0, -12.0), (260.0, -12.0), (260.0, 4.0)])
def test_pitch_of_low_and_high_voices(f0, semitones, utterance, voice):
    result = PitchShift(semitones)(voice.vowel(f0), 16000, utterance)
    expected = f0 * 2 ** (semitones / 12)
    assert voice.pitch_of(result, 16000) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("rate", spread(RATES, quick=2))
@pytest.mark.parametrize("ratio", spread([0.8, 0.9, 1.2], quick=2))
def test_formants_move_and_pitch_stays(rate, ratio, utterance, voice):
    shift = FormantShift(ratio)
    result = shift(voice.vowel(120.0, rate), rate, utterance)
    assert voice.pitch_of(result, rate) == pytest.approx(120.0, rel=0.002)
    glide = shift(voice.vowel((100.0, 150.0), rate, 2.0), rate, utterance)
    np.testing.assert_allclose(voice.formants_of(glide, rate), np.array(voice.FORMANTS) * ratio, rtol=0.05)


@pytest.mark.parametrize("protector", [PitchShift(5.0), PitchShift(-5.0), FormantShift(1.2)], ids=lambda p: p.name)
def test_timing_stays(protector, utterance, voice):
    """Bursts between silences stay where they were, to within the reach of the search."""
    wave = np.zeros(32000, np.float32)
    for start in (4000, 12000, 20000, 27000):
        wave[start : start + 3200] = voice.vowel(130.0, seconds=0.2)
    result = protector(wave, 16000, utterance)
    loud = np.convolve(np.abs(wave), np.ones(480), "same") > 5
    loud_after = np.convolve(np.abs(result), np.ones(480), "same") > 5
    assert (loud == loud_after).mean() > 0.95


@pytest.mark.parametrize("rate", RATES)
def test_envelope_is_twelve_rounds_of_cepstral_smoothing(rate, voice):
    """By its definition, one frame after the other, with Fourier transforms."""
    size = 4 * round(rate * 0.010)
    wave = np.concatenate([voice.vowel(f0, rate, 0.3) for f0 in (90.0, 140.0, 300.0)]).astype(np.float64)
    wave += 1e-4 * np.random.default_rng(0).normal(size=len(wave))
    starts = np.arange(0, len(wave) - size, size // 2)
    spectrum = np.fft.rfft(wave[starts[:, None] + np.arange(size)] * np.hanning(size), axis=1)
    other = np.fft.rfft(np.random.default_rng(1).normal(size=(len(starts), size)), axis=1)
    found = log_envelopes(spectrum, other, rate=rate)
    shortest, longest = round(rate * 0.0025), round(rate * 0.0125)
    quefrency = np.minimum(np.arange(size), size - np.arange(size))
    orders = set()
    for row in range(len(starts)):
        logs = []
        for one in (spectrum[row], other[row]):
            amplitude = np.abs(one)
            logs.append(np.log(np.maximum(amplitude, 1e-6 * amplitude.max())))
        period = min(shortest + np.fft.irfft(log, size)[shortest:longest].argmax() for log in logs)
        order = min(max(period // 2, round(rate * 0.0015)), round(rate * 0.0045))
        orders.add(order)
        for log, envelopes in zip(logs, found, strict=True):
            smooth = log
            for _ in range(12):
                smooth = np.fft.rfft(np.fft.irfft(np.maximum(log, smooth), size) * (quefrency <= order)).real
            np.testing.assert_allclose(envelopes[row], smooth, rtol=0, atol=1e-4)  # single precision
    assert len(orders) > 3


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
        angles = np.angle(poles)
        raised = np.abs(poles) * np.exp(1j * np.sign(angles) * np.minimum(np.abs(angles) ** power, np.pi))
        moved = np.real(np.poly(np.where(poles.imag == 0, poles, raised)))
        expected = lfilter([1.0], moved, lfilter(predictor, [1.0], row))
        expected *= np.sqrt((row @ row) / (expected @ expected))
        np.testing.assert_allclose(result, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("order", [2, 3, 20, 100])
def test_roots_are_those_of_the_polynomial(order):
    rng = np.random.default_rng(order)
    pairs = rng.uniform(0.3, 0.99, (40, order // 2)) * np.exp(1j * rng.uniform(0.0, np.pi, (40, order // 2)))
    pairs[:30:3, 0] = pairs[:30:3].real[:, 0]  # two equal real roots
    expected = np.concatenate([pairs, pairs.conj(), np.full((40, order % 2), 0.5)], axis=1)
    expected[30:] = 0.0  # as of silence
    coefficients = np.stack([np.poly(roots).real for roots in expected])
    roots = polynomial_roots(coefficients).T
    for row, found in zip(coefficients, roots, strict=True):  # those of a polynomial that differs by rounding alone
        np.testing.assert_allclose(np.poly(found), row, atol=1e-12 * np.abs(np.poly(-np.abs(found))).max())
    if order <= 20:
        distances = np.abs(roots[:, :, None] - expected[:, None]).min(axis=2).max(axis=1)
        assert distances[30:].max() == 0.0
        assert np.median(distances) < 1e-9
        assert distances.max() < 1e-3


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
