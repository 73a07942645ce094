"""Waveforms from files of every kind that people have."""

import io

import numpy as np
import pytest

from zeroevidence.data import audio
from zeroevidence.data.audio import inspect_audio, load_audio, write_audio
from zeroevidence.data.corpus import Utterance
from zeroevidence.errors import InputError, MissingExtra

sf = pytest.importorskip("soundfile")
pytest.importorskip("soxr")


def tone(seconds=0.5, rate=16000, hertz=440.0, level=0.5):
    return (level * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


@pytest.mark.parametrize(("suffix", "tolerance"), [("wav", 1e-4), ("flac", 1e-4), ("ogg", 0.05)])
def test_written_and_read_again(tmp_path, suffix, tolerance):
    file = tmp_path / f"a.{suffix}"
    write_audio(file, tone())
    wave = load_audio(file)
    assert wave.dtype == np.float32
    assert wave.shape == (8000,)
    assert np.abs(wave - tone()).max() < tolerance


@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_what_was_read_is_written_again_to_the_last_bit(suffix):
    samples = np.arange(-(1 << 15), 1 << 15, dtype=np.int16)
    wave = samples.astype(np.float32) / np.float32(1 << 15)
    data = audio.encode_audio(f"a.{suffix}", wave)
    np.testing.assert_array_equal(sf.read(io.BytesIO(data), dtype="int16")[0], samples)
    np.testing.assert_array_equal(audio.decode_audio(data), wave)


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 44100, 48000])
def test_any_rate_becomes_the_one_asked_for(tmp_path, rate):
    write_audio(tmp_path / "a.wav", tone(rate=rate), rate)
    wave = load_audio(tmp_path / "a.wav")
    assert abs(len(wave) - 8000) <= 1
    assert np.abs(wave[500:7500] - tone()[500:7500]).max() < 5e-3


def test_stereo_is_averaged(tmp_path):
    write_audio(tmp_path / "a.wav", np.stack((tone(), 0 * tone()), axis=1))
    assert np.abs(load_audio(tmp_path / "a.wav") - tone() / 2).max() < 1e-4
    assert inspect_audio(tmp_path / "a.wav").channels == 2


def test_parts_are_counted_at_16_khz_whatever_the_file(tmp_path):
    ramp = np.linspace(-0.9, 0.9, 16000).astype(np.float32)
    write_audio(tmp_path / "a.wav", ramp)
    write_audio(tmp_path / "b.wav", np.linspace(-0.9, 0.9, 48000), 48000)
    part = load_audio(Utterance("u", "s", tmp_path / "a.wav", start=4000, end=6000))
    assert np.abs(part - ramp[4000:6000]).max() < 1e-4
    assert np.abs(load_audio(tmp_path / "b.wav", start=4000, end=6000) - part).max() < 1e-3
    assert len(load_audio(tmp_path / "a.wav", start=15000)) == 1000
    assert len(load_audio(tmp_path / "b.wav", 8000, start=4000, end=6000)) == 1000
    for name in ("a.wav", "b.wav"):
        with pytest.raises(InputError, match=rf"{name}: 16000 samples at 16 kHz; expected .* 15000 to 17000"):
            load_audio(tmp_path / name, start=15000, end=17000)


def test_files_that_cannot_be_used_are_named(tmp_path):
    (tmp_path / "text.wav").write_text("not audio")
    (tmp_path / "zero.flac").write_bytes(b"")
    write_audio(tmp_path / "empty.wav", np.zeros(0))
    sf.write(tmp_path / "loud.wav", 20000 * tone(), 16000, subtype="FLOAT")
    sf.write(tmp_path / "nan.wav", np.full(100, np.nan, np.float32), 16000, subtype="FLOAT")
    write_audio(tmp_path / "whole.flac", np.random.default_rng(0).normal(0, 0.1, 32000))
    data = (tmp_path / "whole.flac").read_bytes()
    (tmp_path / "cut.flac").write_bytes(data[: len(data) // 2])
    for name, reason in {
        "absent.wav": "no such file",
        "text.wav": "cannot be read as audio",
        "zero.flac": "cannot be read as audio",
        "empty.wav": "no samples",
        "loud.wav": r"samples reach 1\d{4}",
        "nan.wav": "not finite",
        "cut.flac": "cut off|cannot be read as audio",
    }.items():
        with pytest.raises(InputError, match=rf"{name}: .*({reason})"):
            load_audio(tmp_path / name)
    with pytest.raises(InputError, match="is a folder"):
        load_audio(tmp_path)


def test_telephone_speech_in_which_one_cannot_seek_is_read(tmp_path):
    sf.write(tmp_path / "gsm.wav", tone(rate=8000), 8000, subtype="GSM610")
    wave = load_audio(tmp_path / "gsm.wav")
    assert np.corrcoef(wave[:8000], tone()[:8000])[0, 1] > 0.9
    with pytest.raises(InputError, match=r"gsm.wav: .*expected the part from 0 to 999999"):
        load_audio(tmp_path / "gsm.wav", start=0, end=999_999)


def test_beyond_full_scale_is_limited(tmp_path):
    sf.write(tmp_path / "a.wav", 1.5 * tone() / 0.5, 16000, subtype="FLOAT")
    assert np.abs(load_audio(tmp_path / "a.wav")).max() == 1.0


def test_silent_and_clipped_are_seen(tmp_path):
    write_audio(tmp_path / "silent.wav", np.full(4000, 0.25))
    write_audio(tmp_path / "clipped.wav", 3 * tone())
    write_audio(tmp_path / "good.wav", tone(level=0.99))
    assert inspect_audio(tmp_path / "silent.wav").silent
    assert not inspect_audio(tmp_path / "silent.wav").clipped
    assert inspect_audio(tmp_path / "clipped.wav").clipped
    good = inspect_audio(tmp_path / "good.wav")
    assert (good.silent, good.clipped, good.rate, good.samples) == (False, False, 16000, 8000)
    write_audio(tmp_path / "two.wav", np.array([1.0, -1.0]))
    assert not inspect_audio(tmp_path / "two.wav").clipped


def test_without_soundfile_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(MissingExtra, match=r"zeroevidence\[speech\]"):
        audio.load_audio(tmp_path / "a.wav")


@pytest.mark.parametrize("rate", [1, 3999, 768_001, 2**31 - 1])
def test_rates_that_no_speech_has_are_refused(tmp_path, rate):
    sf.write(tmp_path / "a.wav", tone(), rate)
    for read in (load_audio, inspect_audio, audio.read_header):
        with pytest.raises(InputError, match=rf"a\.wav: sample rate of {rate} Hz; expected 4 to 768 kHz"):
            read(tmp_path / "a.wav")


@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_ten_seconds_of_a_file_of_three_hours_take_the_memory_of_ten_seconds(tmp_path, rate):
    """The file is sparse: silence but for the part that is read."""
    import struct
    import tracemalloc

    size, first, last = 2 * 3 * 3600 * rate, rate * 7200, rate * 7210
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                       b"data", size)  # fmt: skip
    noise = np.random.default_rng(0).integers(-3000, 3000, last - first).astype("<i2")
    with (tmp_path / "long.wav").open("wb") as stream:
        stream.write(head)
        stream.truncate(len(head) + size)
        stream.seek(len(head) + 2 * first)
        stream.write(noise.tobytes())
    tracemalloc.start()
    try:
        wave = load_audio(tmp_path / "long.wav", start=16_000 * 7200, end=16_000 * 7210)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(wave) == 160_000
    if rate == 16_000:
        np.testing.assert_allclose(wave, noise / 32768.0, atol=1e-6)
    assert peak < 8 * 4 * (last - first)


@pytest.mark.parametrize(
    ("rate", "suffix", "subtype"),
    [(44_100, "wav", "FLOAT"), (8000, "flac", "PCM_16"), (44_101, "wav", "FLOAT"), (8000, "wav", "GSM610"),
     (48_000, "ogg", "VORBIS"), (44_100, "mp3", "MPEG_LAYER_III"), (16_000, "wav", "PCM_16")],
)  # fmt: skip
@pytest.mark.parametrize("wanted", [16_000, 24_000])
def test_a_part_is_that_of_the_whole_file_resampled(tmp_path, rate, suffix, subtype, wanted):
    path = tmp_path / f"a.{suffix}"
    sf.write(path, np.random.default_rng(0).normal(0, 0.1, 3 * rate), rate, subtype=subtype)
    whole = load_audio(path, wanted)
    for start, end in ((0, 8000), (20_011, 30_007), (40_000, None)):
        part = load_audio(path, wanted, start=start, end=end)
        first, last = (start * wanted + 8000) // 16_000, None if end is None else (end * wanted + 8000) // 16_000
        np.testing.assert_allclose(part, whole[first:last], atol=2e-6)  # of a step of 3e-5 in 16 bits


def test_channels_that_cancel_each_other_in_a_part_are_said(tmp_path):
    """At another rate, more than the part is decoded, and is not taken for it."""
    loud = tone(rate=44_100)
    left, right = np.concatenate((loud, loud, 0 * loud)), np.concatenate((loud, -loud, 0 * loud))
    write_audio(tmp_path / "a.wav", np.stack((left, right), axis=1), 44_100)
    starts = [8000 * number + 2000 for number in range(3)]  # the filter reaches across the edges
    parts = [Utterance("u", "s", tmp_path / "a.wav", start=start, end=start + 4000) for start in starts]
    assert audio.load_speech(parts[0]).audible
    with pytest.raises(InputError, match=r"a\.wav: silent once its channels are averaged"):
        audio.load_speech(parts[1])
    with pytest.raises(InputError, match=r"a\.wav: silent: no sample above"):
        audio.load_speech(parts[2])


@pytest.mark.parametrize("at", [-3, -2, -1, 0])
def test_facts_do_not_depend_on_where_a_file_is_cut_into_pieces(tmp_path, monkeypatch, at):
    """Three samples at full scale on either side of the end of a piece, beside a channel that is nearly silent."""
    soundfile = pytest.importorskip("soundfile")
    monkeypatch.setattr("zeroevidence.data.audio._PIECE", 100)
    samples = np.zeros((250, 2), dtype=np.float32)
    samples[100 + at : 103 + at, 0] = 1.0
    soundfile.write(tmp_path / "a.wav", samples, 16000, subtype="FLOAT")
    facts = inspect_audio(tmp_path / "a.wav")
    assert (facts.samples, facts.channels, facts.silent, facts.clipped) == (250, 2, False, True)
    samples[101 + at, 0] = 0.0
    soundfile.write(tmp_path / "a.wav", samples, 16000, subtype="FLOAT")
    assert not inspect_audio(tmp_path / "a.wav").clipped
    soundfile.write(tmp_path / "a.wav", np.column_stack((samples[:, 0], -samples[:, 0])), 16000, subtype="FLOAT")
    facts = inspect_audio(tmp_path / "a.wav")
    assert (facts.silent, facts.cancelled) == (True, True)
