"""Audio files that hold less than their headers say."""

import io
import struct

import numpy as np
import pytest

from zeroevidence.data.audio import inspect_audio, load_audio, read_header
from zeroevidence.data.waves import repaired_stream, sample_bytes
from zeroevidence.errors import InputError

sf = pytest.importorskip("soundfile")
pytest.importorskip("soxr")

NOISE = np.random.default_rng(0).normal(0, 0.1, 24000)


def encoded(container, subtype="PCM_16"):
    stream = io.BytesIO()
    sf.write(stream, NOISE, 16000, format=container, subtype=subtype)
    return stream.getvalue()


@pytest.mark.parametrize("container", ["WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "NIST", "SVX"])
def test_a_file_that_was_cut_is_refused(tmp_path, container):
    data, file = encoded(container), tmp_path / "a.wav"
    file.write_bytes(data)
    assert len(load_audio(file)) == 24000
    assert sample_bytes(io.BytesIO(data)).announced >= 48000
    for cut in (len(data) // 2, len(data) - 2):
        file.write_bytes(data[:cut])
        for read in (load_audio, inspect_audio, read_header):
            with pytest.raises(InputError, match=r"a\.wav: cut off: \d+ of 480\d\d bytes"):
                read(file)


@pytest.mark.parametrize(("container", "subtype"), [("FLAC", "PCM_16"), ("MP3", "MPEG_LAYER_III"), ("CAF", "PCM_16")])
def test_other_containers_that_were_cut_are_refused_by_their_decoders(tmp_path, container, subtype):
    data, file = encoded(container, subtype), tmp_path / "a.wav"
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"a\.wav: (cut off|cannot be read as audio)"):
        load_audio(file)


def wav_with_sizes(whole, samples):
    data = bytearray(encoded("WAV"))
    struct.pack_into("<I", data, 4, whole)
    struct.pack_into("<I", data, 40, samples)
    return bytes(data)


@pytest.mark.parametrize("claimed", [10**9, 2 * 16000 * 3 * 3600, 48002])
def test_a_header_that_claims_more_is_refused(tmp_path, claimed):
    (tmp_path / "a.wav").write_bytes(wav_with_sizes(claimed + 36, claimed))
    with pytest.raises(InputError, match=f"a.wav: cut off: 48000 of {claimed} bytes"):
        load_audio(tmp_path / "a.wav")


@pytest.mark.parametrize(
    ("whole", "samples"),
    [(0, 0), (0xFFFFFFFF, 0), (0xFFFFFFFF, 0xFFFFFFFF), (48036, 0xFFFFFFFF), (8, 0)],
)
def test_a_streamed_file_is_read_to_its_end(tmp_path, whole, samples):
    (tmp_path / "a.wav").write_bytes(wav_with_sizes(whole, samples))
    assert np.abs(load_audio(tmp_path / "a.wav") - NOISE).max() < 1e-4
    assert read_header(tmp_path / "a.wav")[:2] == (16000, 1.5)


def test_a_file_with_no_samples_and_something_behind_them_is_empty(tmp_path):
    (tmp_path / "a.wav").write_bytes(wav_with_sizes(48036, 0))  # the size of the whole says that it was finished
    with pytest.raises(InputError, match="empty: no samples"):
        load_audio(tmp_path / "a.wav")
    assert repaired_stream(io.BytesIO(wav_with_sizes(48036, 0))) is None


def test_chunks_that_go_nowhere_end():
    endless = b"RIFF\0\0\0\0WAVE" + 20_000 * b"junk\0\0\0\0"
    assert sample_bytes(io.BytesIO(endless)) is None
    assert sample_bytes(io.BytesIO(b"riff" + bytes(36) + b"fact" + bytes(12) + b"\xff" * 8)) is None
    assert sample_bytes(io.BytesIO(b"")) is None
