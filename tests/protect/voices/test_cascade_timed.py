"""Synthetic speech with the pauses and phrases of a recording."""

from types import SimpleNamespace

import numpy as np
import pytest

from zeroevidence.protect import load_protector
from zeroevidence.protect.voices import cascade
from zeroevidence.protect.voices.cascade import (
    Cascade,
    TimedCascade,
    align,
    keep_timing,
    with_language,
    with_transcripts,
)
from zeroevidence.protect.voices.speech_models import RATE

HOP = 384


def tone(hertz, seconds):
    return 0.3 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)


def silence(seconds):
    return np.zeros(round(seconds * RATE))


def spectra(wave):
    """Vectors that tell tones apart, as the content encoder tells sounds."""
    frames = np.pad(wave, (0, -len(wave) % HOP)).reshape(-1, HOP)
    return np.abs(np.fft.rfft(frames, axis=1)) + 1e-3


@pytest.fixture(autouse=True)
def ear(monkeypatch):
    monkeypatch.setattr(cascade, "load_networks", lambda: SimpleNamespace(vectors=spectra))


def heard(wave, hertz):
    """First and last second in which a tone is heard."""
    frames = np.abs(np.fft.rfft(wave[: len(wave) // 160 * 160].reshape(-1, 160), axis=1))
    loud = np.flatnonzero(frames[:, round(hertz / 100)] > 0.25 * frames.max())
    return loud[0] / 100, (loud[-1] + 1) / 100


def slow_cost(first, second):
    """The least sum along a path, by every path there is."""
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second)]
    cost = 1.0 - unit[0] @ unit[1].T

    def least(i, j):
        if i < 0 or j < 0:
            return 0.0 if i == j == -1 else np.inf
        return cost[i, j] + min(least(i - 1, j - 1), least(i - 1, j), least(i, j - 1))

    return cost, least(len(first) - 1, len(second) - 1)


@pytest.mark.parametrize("seed", range(6))
def test_alignment_is_the_cheapest_path(seed):
    source = np.random.default_rng(seed)
    first, second = source.standard_normal((source.integers(1, 7), 3)), source.standard_normal((4, 3))
    place = align(first, second)
    cost, least = slow_cost(first, second)
    # A path visits each row up to its last column there; which columns it began with is for the path to choose.
    assert (np.diff(place) >= 0).all()
    assert place[-1] == len(second) - 1
    begins = np.concatenate([[0], place[:-1]])
    ways = [[cost[k, b : e + 1].sum() for b in {begins[k] + (k > 0), begins[k]} if b <= e] for k, e in enumerate(place)]
    assert sum(map(min, ways)) == pytest.approx(least)


def test_phrases_begin_and_end_as_in_the_recording():
    recording = np.concatenate([silence(0.3), tone(400, 0.6), silence(0.5), tone(1000, 0.4), silence(0.2)])
    gap = silence(0.06)  # too short for a pause
    spoken = np.concatenate([silence(0.2), tone(400, 0.4), gap, tone(1000, 0.5), silence(0.1)])
    result = keep_timing(recording, spoken)
    assert len(result) == len(recording)
    np.testing.assert_allclose(heard(result, 400), (0.3, 0.9), atol=0.05)
    np.testing.assert_allclose(heard(result, 1000), (1.4, 1.8), atol=0.05)
    assert np.abs(result[round(0.97 * RATE) : round(1.33 * RATE)]).max() == 0.0


def test_nothing_of_the_recording_but_its_pauses_is_in_the_result():
    spoken = np.concatenate([tone(400, 0.4), tone(1000, 0.5)])
    source = np.random.default_rng(0)
    first = np.concatenate([tone(400, 0.6), silence(0.5), tone(1000, 0.4)])
    louder = 0.5 * first + np.where(first == 0.0, 0.0, 0.01 * source.standard_normal(len(first)))
    assert np.array_equal(keep_timing(first, spoken), keep_timing(louder, spoken))


def test_what_cannot_be_said_so_fast_is_longer():
    result = keep_timing(tone(400, 0.2), tone(400, 2.0))
    assert len(result) == pytest.approx(1.0 * RATE, rel=0.05)


@pytest.mark.parametrize("recording", [silence(1.0), np.zeros(1)])
def test_where_nothing_is_heard_speech_stays_as_it_is(recording):
    spoken = tone(400, 0.5)
    assert np.array_equal(keep_timing(recording, spoken)[: len(spoken)], spoken)


def test_names():
    assert load_protector("timed-cascade") == TimedCascade()
    assert load_protector("timed-cascade:whisper/hibari").name == "timed-cascade:whisper/hibari"
    assert TimedCascade().fingerprint != Cascade().fingerprint
    assert with_transcripts(TimedCascade(), {"a": "b"}) == TimedCascade(transcripts={"a": "b"})
    assert with_language("timed-cascade", "de") == "timed-cascade:whisper/espeak-de"
