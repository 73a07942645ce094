"""Front ends against those of the extractors' own makers, and by what they must be blind to."""

import os

import numpy as np
import pytest

from zeroevidence.attack import onnx_cards
from zeroevidence.attack.onnx_cards import FRONT_ENDS, _speechbrain_filters, kaldi_fbank, speechbrain_fbank
from zeroevidence.data.audio import load_audio
from zeroevidence.errors import InputError


def speech(seconds=2.0, seed=0):
    """Bursts of coloured noise over a tone and a floor of white noise, as a microphone has, then digital silence."""
    rng = np.random.default_rng(seed)
    count = int(16000 * seconds)
    time = np.arange(count) / 16000
    noise = np.cumsum(rng.normal(size=count))
    noise -= np.convolve(noise, np.ones(200) / 200, "same")
    wave = 0.2 * np.sin(2 * np.pi * 180 * time) * (1 + np.sin(9 * time)) + 0.002 * noise * np.sin(3 * time) ** 2
    wave += 0.02 * rng.normal(size=count)
    wave[-2000:-1000] = 0.0
    return (wave / np.abs(wave).max() * 0.7).astype(np.float32)


@pytest.mark.parametrize(("name", "frames"), [("speechbrain-fbank", 201), ("kaldi-fbank", 198)])
def test_shape_centring_and_gain(name, frames):
    wave = speech()
    features = FRONT_ENDS[name](wave)
    assert features.shape == (frames, 80)
    assert features.dtype == np.float32
    assert np.abs(features.mean(axis=0)).max() < 1e-4
    loud = 0.1 * np.random.default_rng(2).normal(size=30000).astype(np.float32)
    assert np.abs(FRONT_ENDS[name](loud) - FRONT_ENDS[name](loud / 2)).max() < 1e-3


def test_short_waveforms():
    with pytest.raises(InputError, match="399 samples; expected at least 400"):
        kaldi_fbank(np.ones(399, np.float32))
    assert kaldi_fbank(speech()[:400]).shape == (1, 80)
    assert speechbrain_fbank(speech()[:100]).shape == (1, 80)


def _kaldi(knf, wave):
    options = knf.FbankOptions()
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 80
    fbank = knf.OnlineFbank(options)
    fbank.accept_waveform(16000, wave.tolist())
    fbank.input_finished()
    theirs = np.stack([fbank.get_frame(at) for at in range(fbank.num_frames_ready)])
    return theirs - theirs.mean(axis=0)


def test_kaldi_against_kaldi():
    knf = pytest.importorskip("kaldi_native_fbank")
    apart = np.abs(kaldi_fbank(speech()) - _kaldi(knf, speech()))
    assert np.quantile(apart, 0.999) < 1e-4
    assert apart.max() < 1e-3  # quiet bands beside a loud tone show Kaldi's rounding to single precision


def test_kaldi_against_kaldi_on_real_speech(shared):
    knf = pytest.importorskip("kaldi_native_fbank")
    pytest.importorskip("soundfile")
    for name in ("01_00", "12_03", "56_07"):
        wave = load_audio(shared / "audiomnist" / name[:2] / f"{name}.flac")
        assert np.abs(kaldi_fbank(wave) - _kaldi(knf, wave)).max() < 1e-4


def test_speechbrain_against_its_formulas_in_torch():
    torch = pytest.importorskip("torch")
    mel = torch.linspace(0, 2595 * np.log10(1 + 8000 / 700), 82)
    hertz = 700 * (10 ** (mel / 2595) - 1)
    band, centre = (hertz[1:] - hertz[:-1])[:-1], hertz[1:-1]
    slope = (torch.linspace(0, 8000, 201)[:, None] - centre) / band
    filters = torch.clamp(torch.minimum(slope + 1.0, -slope + 1.0), min=0.0).double()
    assert np.abs(_speechbrain_filters() - filters.numpy()).max() < 5e-6
    wave = torch.from_numpy(speech()).double()
    window = torch.hamming_window(400, dtype=torch.float64)
    turned = torch.stft(wave, 400, 160, 400, window, center=True, pad_mode="constant", return_complex=True)
    power = turned.abs().pow(2).T @ filters
    decibels = 10.0 * torch.log10(torch.clamp(power, min=1e-10))
    decibels = torch.maximum(decibels, decibels.max() - 80.0)
    theirs = (decibels - decibels.mean(dim=0)).numpy()
    assert np.abs(speechbrain_fbank(wave.numpy().astype(np.float32)) - theirs).max() < 1e-4


def test_a_card_in_a_file_whose_name_is_not_utf8_has_a_name_that_can_be_written(tmp_path):
    path = tmp_path / os.fsdecode(b"lat\xe9.json")
    path.write_text('{"file": "x.onnx", "dim": 1}')
    assert list(onnx_cards._cards(path)) == ["lat\ufffd"]
