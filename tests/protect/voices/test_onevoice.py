"""One voice for all: what leaves the networks depends on codes alone, and dials keep what they say and no more."""

import importlib.util
import shutil

import numpy as np
import pytest

from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.protect import load_protector
from zeroevidence.protect.voices import onevoice, protector_parts

pytest.importorskip("onnxruntime", reason="needs the extra 'speech'")
NO_WHEEL = importlib.util.find_spec("moonshine_voice") is None
needs_wheel = pytest.mark.skipif(NO_WHEEL, reason="needs the extra 'onevoice' (moonshine-voice)")


@pytest.fixture(scope="module")
def networks():
    """The networks, of which only the bundled decoder is loaded."""
    return onevoice.load_networks()


@pytest.fixture
def hears_levels(networks, monkeypatch):
    """Networks that hear a code in the level of each frame, so that known codes can be said to them."""

    class StandIn:
        decode, usual_frames = networks.decode, networks.usual_frames

        @staticmethod
        def encode(wave, size):
            frames = np.pad(wave, (0, -len(wave) % onevoice.HOP)).reshape(-1, onevoice.HOP)
            return (np.abs(frames).mean(axis=1) > 0.1).astype(np.int64)

    monkeypatch.setattr(onevoice, "load_networks", lambda: StandIn)


def test_a_spectrum_is_turned_back_into_its_waveform():
    wave = np.random.default_rng(0).normal(size=128 * 40)
    parts = onevoice._spectrum(wave)
    spectrum = parts[:, :257] + 1j * parts[:, 257:]
    output = np.concatenate([np.log(np.abs(spectrum)), np.angle(spectrum)], axis=1)
    np.testing.assert_allclose(onevoice._waveform(output), wave, atol=1e-9)


def test_pulses_have_the_pitch_that_is_asked_for():
    for hertz in (120.0, 215.0):
        power = np.abs(np.fft.rfft(onevoice._pulses(np.full(125, hertz)) * np.hanning(16_000)))
        assert abs(int(power[60 : int(1.5 * hertz)].argmax()) + 60 - hertz) <= 1.0


def test_speech_has_the_length_of_its_codes_and_is_the_same_in_pieces(networks, monkeypatch):
    codes = np.random.default_rng(0).integers(0, 64, 90)
    pitch = np.full(270, 180.0)
    whole = networks.decode(codes, pitch, 64)
    assert len(whole) == 90 * onevoice.HOP
    assert np.isfinite(whole).all()
    assert np.abs(whole).max() > 0.01
    monkeypatch.setattr(onevoice, "_PIECE", 40)
    np.testing.assert_allclose(networks.decode(codes, pitch, 64), whole, atol=1e-4)


def test_the_output_depends_on_codes_alone(hears_levels, voice):
    rng = np.random.default_rng(0)
    loud = np.repeat(rng.integers(0, 2, 40), onevoice.HOP)
    signs, noise = rng.normal(size=(2, 2, len(loud)))
    waves = np.where(loud, 0.5 * np.sign(signs), 0.01 * noise).astype(np.float32)
    for name in ("onevoice", "onevoice:64,rate=even"):
        protector = load_protector(name)
        first, second = (protector(wave, 16_000, voice.Spoken(f"u{k}", f"s{k}")) for k, wave in enumerate(waves))
        np.testing.assert_array_equal(first, second)


def test_length_and_rate_are_kept_unless_the_rate_is_even(hears_levels, utterance):
    wave = 0.5 * np.sign(np.random.default_rng(0).normal(size=11_025)).astype(np.float32)
    assert len(load_protector("onevoice")(wave, 22_050, utterance)) == 11_025
    assert len(load_protector("onevoice:128,rate=even")(wave, 22_050, utterance)) < 11_025  # its code never changes
    silence = load_protector("onevoice")(np.zeros(4000, np.float32), 16_000, utterance)
    assert not silence.any()
    assert len(silence) == 4000


@pytest.mark.parametrize("size", onevoice.SIZES)
def test_an_even_rate_says_nothing_of_how_long_anything_lasts(networks, size):
    rng, frames = np.random.default_rng(0), networks.usual_frames(size)
    sounds = rng.permutation(size)[:32]
    slow, quick = (np.repeat(sounds, rng.integers(1, most, len(sounds))) for most in (12, 3))
    spoken = [codes[onevoice.even_places(codes, frames)] for codes in (slow, quick)]
    np.testing.assert_array_equal(*spoken)
    assert frames.shape == (size,)
    assert frames.min() >= 1.0
    assert abs(len(spoken[0]) - frames[sounds].sum()) <= 1.0
    assert len(onevoice.even_places(slow[:1], frames)) >= 1


def test_names_are_read_as_they_are_written():
    for name in ("onevoice:128", "onevoice:32,rate=even"):
        assert load_protector(name).name == name
    assert load_protector("onevoice") == onevoice.OneVoice(128)
    assert [part.role for part in protector_parts("onevoice")] == ["encoder", "voice"]
    assert load_protector("onevoice:64").fingerprint != load_protector("onevoice:128").fingerprint
    for name in ("onevoice:100", "onevoice:64,rate=fast", "onevoice:64,colour=red", "onevoice:x"):
        with pytest.raises(UsageError, match="onevoice"):
            load_protector(name)


def test_other_weights_are_refused(tmp_path, monkeypatch):
    folder, content = tmp_path / "weights", onevoice.read_weights("content.onnx")
    shutil.copytree(onevoice.WEIGHTS, folder)
    monkeypatch.setattr(onevoice, "WEIGHTS", folder)
    assert onevoice.read_weights("content.onnx") == content
    (folder / "content.onnx").write_bytes(b"other")
    with pytest.raises(InputError, match=r"content\.onnx: is not the file that its card names"):
        onevoice.read_weights("content.onnx")


def test_without_the_wheel_the_extra_is_named(monkeypatch, utterance):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    onevoice.load_networks.cache_clear()
    onevoice.moonshine_file.cache_clear()
    with pytest.raises(MissingExtra, match="onevoice"):
        load_protector("onevoice")(np.ones(1600, np.float32), 16_000, utterance)


@needs_wheel
def test_a_recording_keeps_its_length_and_loses_its_level(voice, utterance):
    wave = voice.vowel(120, seconds=1.0)
    first, quiet = (load_protector("onevoice")(gain * wave, 16_000, utterance) for gain in (1.0, 0.125))
    assert len(first) == 16_000
    assert np.abs(first).max() == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_array_equal(first, quiet)
