"""Reading and writing audio files: mono, one rate, single precision, between -1 and 1.

Channels are averaged, other rates resampled (soxr, very high quality). Samples beyond full scale, as lossy decoders and
resampling leave them, are limited to it; a file whose samples are far beyond was written in other units and is refused.
"""

from __future__ import annotations

import errno
import io
import os
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.corpus import SEGMENT_RATE, UNDECODED, Utterance
from zeroevidence.data.files import check_size, error_reason, unchanged, unreadable_reason
from zeroevidence.data.waves import (
    FRAME,
    SILENCE,
    FilePart,
    Mixer,
    Wave,
    frame_powers,
    pcm_samples,
    repaired_stream,
    sample_bytes,
)
from zeroevidence.errors import InputError, MissingExtra, ZeroEvidenceError

_BEYOND = 8.0
_FULL = 0.999
_CLIPPED_RUN = 3
_FORMATS = {".wav": ("WAV", "PCM_16"), ".flac": ("FLAC", "PCM_16"), ".ogg": ("OGG", "VORBIS")}
_FORMATS |= {".opus": ("OGG", "OPUS"), ".mp3": ("MP3", "MPEG_LAYER_III")}
_SYSTEM_ERROR = 2  # of libsndfile
_UNKNOWN = 1 << 62  # decoders report an unknown length as a huge one
_PIECE = 1 << 18  # samples of each channel that are mixed and resampled at once
RATES = (4_000, 768_000)  # samples per second of files
LEAST_SECONDS = 0.2  # of audible speech
MOST_MINUTES = 10.0  # of speech at once: encoders take 2 GB of memory for as much


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """Facts about an audio file.

    Parameters
    ----------
    rate
        Its sample rate.
    channels
        How many.
    samples
        Samples per channel.
    silent
        Whether no sample of the channels' average is further than 1e-4 from the mean.
    cancelled
        Whether it is silent because the channels cancel each other out.
    clipped
        Whether three samples in a row are at full scale.
    """

    rate: int
    channels: int
    samples: int
    silent: bool
    cancelled: bool
    clipped: bool


@dataclass(frozen=True, slots=True)
class LoadedAudio:
    """A waveform, and the rate and the number of channels of its file.

    Parameters
    ----------
    wave
        The mean of the channels.
    rate
        Sample rate of the file.
    channels
        Channels of the file.
    audible
        Whether some channel of the samples behind `wave` is not silent.
    """

    wave: Wave
    rate: int
    channels: int
    audible: bool


def load_speech(utterance: Utterance, rate: int = SEGMENT_RATE) -> LoadedAudio:
    """Return the audio of an utterance; silence and too short or long audio are errors.

    Raises
    ------
    InputError
        Naming the file, when it is silent, too short or longer than ten minutes, or as `load_audio` does.
    """
    audio = _load(utterance.path, rate, utterance.start, utterance.end, MOST_MINUTES)
    silent = is_silent(audio.wave)
    reason = inaudible_reason(len(audio.wave) / rate, silent, cancelled=silent and audio.audible)
    if reason:
        raise InputError(reason, path=utterance.path)
    return audio


def inaudible_reason(seconds: float, silent: bool, *, cancelled: bool = False) -> str:
    """Return why no voice can be heard in audio of so many seconds; empty where one can.

    Parameters
    ----------
    seconds
        Length of the audio.
    silent
        Whether all of its channels are silent.
    cancelled
        Whether they are not, but their mean is.

    Examples
    --------
    >>> inaudible_reason(0.1, silent=False)
    '0.10 s of sound; expected at least 0.2 s to hear a voice in'
    >>> inaudible_reason(3.0, silent=False)
    ''
    """
    if cancelled:
        return "silent once its channels are averaged, because they cancel each other out; expected one of them alone"
    if silent:
        return "silent: no sample above -80 dB"
    if seconds < LEAST_SECONDS:
        return f"{seconds:.2f} s of sound; expected at least {LEAST_SECONDS} s to hear a voice in"
    return ""


def overlong_reason(minutes: float) -> str:
    """Return why speech of so many minutes is not used at once; empty where it is.

    Examples
    --------
    >>> overlong_reason(180.0)
    '180 min in one recording; expected at most 10 min, or its parts in a table with start and end, or in segments'
    """
    if minutes <= MOST_MINUTES:
        return ""
    expected = f"at most {MOST_MINUTES:g} min, or its parts in a table with start and end, or in segments"
    return f"{minutes:.0f} min in one recording; expected {expected}"


def conversion_advice(path: Path) -> str:
    """Return how to convert a kind of file that cannot be decoded here; empty for other files.

    Examples
    --------
    >>> conversion_advice(Path("a/talk.m4a"))
    '.m4a cannot be decoded here; convert it: ffmpeg -i talk.m4a talk.wav'
    """
    if path.suffix.lower() not in UNDECODED:
        return ""
    names = shlex.quote(path.name), shlex.quote(f"{path.stem}.wav")
    return f"{path.suffix} cannot be decoded here; convert it: ffmpeg -i {names[0]} {names[1]}"


def load_audio(
    source: Utterance | str | Path, rate: int = SEGMENT_RATE, start: int | None = None, end: int | None = None
) -> Wave:
    """Return the waveform of an utterance, or of a file or a part of it.

    Parameters
    ----------
    source
        An utterance or a file.
    rate
        The sample rate of the result.
    start
        Where the part of a file starts, in samples at 16 kHz.
    end
        Where it ends, exclusive.

    Raises
    ------
    InputError
        Naming the file, when it is missing, cannot be decoded, holds no samples, ends before `end`, or has samples that
        are not finite or far beyond [-1, 1].
    MissingExtra
        Without soundfile, or without soxr where it is needed.
    """
    if isinstance(source, Utterance):
        if start is not None or end is not None:
            raise InputError(f"{source.id!r}: an utterance says itself where it starts and ends")
        path, start, end = source.path, source.start, source.end
    else:
        path = Path(source)
    return _load(path, rate, start, end).wave


def write_audio(path: str | Path, wave: NDArray[np.floating[Any]], rate: int = SEGMENT_RATE) -> None:
    """Write a waveform as 16-bit PCM (wav, flac) or by its suffix as ogg, opus or mp3, limited to full scale."""
    data = encode_audio(path, wave, rate)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot be written: {error_reason(error)}", path=path) from None


def encode_audio(
    path: str | Path, wave: NDArray[np.floating[Any]], rate: int = SEGMENT_RATE, subtype: str | None = None
) -> bytes:
    """Return the bytes of an audio file, limited to full scale; `path` is its name, whose suffix is the format.

    Samples are coded as `subtype` says, such as PCM_24, or as usual where that is None or the format does not have it.
    """
    buffer = io.BytesIO()
    write_waves(buffer, path, [wave], rate, subtype)
    return buffer.getvalue()


def decode_audio(data: bytes) -> Wave:
    """Return the waveform of one channel that `encode_audio` gave the bytes of."""
    wave: Wave = _soundfile("audio in memory").read(io.BytesIO(data), dtype="float32")[0]
    return wave


def write_waves(
    file: Any, path: str | Path, waves: Iterable[NDArray[np.floating[Any]]], rate: int, subtype: str | None = None
) -> None:
    """Write waveforms one after the other to an open file or a path; otherwise as `encode_audio`."""
    soundfile, suffix = _soundfile(path), Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(f"cannot be written: unknown format; expected {', '.join(_FORMATS)}", path=path)
    format, usual = _FORMATS[suffix]
    coding = subtype if subtype is not None and soundfile.check_format(format, subtype) else usual
    target = None
    try:
        for wave in waves:
            values = np.asarray(wave)
            if values.ndim not in (1, 2) or not np.isfinite(values).all():
                raise InputError(f"shape {values.shape}; expected finite samples (x channels)", path=path)
            if target is None:
                channels = 1 if values.ndim == 1 else values.shape[1]
                target = soundfile.SoundFile(file, "w", rate, channels, coding, format=format)
            target.write(pcm_samples(values) if coding == "PCM_16" else np.clip(values, -1.0, 1.0))
        if target is not None:
            target.close()
    except ZeroEvidenceError:
        raise
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        if getattr(error, "code", None) == _SYSTEM_ERROR:  # such as a full disk
            raise OSError(errno.ENOSPC, _message(error)) from None
        raise InputError(f"cannot be written as {format} at {rate} Hz: {_message(error)}", path=path) from None


def inspect_audio(path: str | Path) -> AudioFacts:
    """Return the facts of a file, of which all samples are read.

    Silent: no sample of the channels' average is further than 1e-4 (-80 dB) from the mean. Clipped: three samples in a
    row at full scale (0.999 or more) in one channel.
    """
    with _open_audio(Path(path)) as file:
        rate, channels = int(file.samplerate), int(file.channels)
        samples, clipped = 0, False
        # of each channel and, last, of their mean
        low, high, total = np.full(channels + 1, np.inf), np.full(channels + 1, -np.inf), np.zeros(channels + 1)
        full = np.zeros((0, channels), dtype=bool)
        for piece in _pieces(file, Path(path)):
            signals = np.column_stack((piece, piece.mean(axis=1, dtype=np.float32)))
            low, high = np.minimum(low, signals.min(axis=0)), np.maximum(high, signals.max(axis=0))
            total += signals.sum(axis=0, dtype=np.float64)
            samples += len(piece)
            full = np.concatenate((full[1 - _CLIPPED_RUN :], np.abs(piece) >= _FULL))  # a run may begin in the last one
            clipped = clipped or bool((full[2:] & full[1:-1] & full[:-2]).any())
    _check_peak(float(np.maximum(np.abs(low), np.abs(high)).max()), Path(path))
    mean = total / samples
    *of_channels, of_mix = np.maximum(high - mean, mean - low).tolist()
    silent = of_mix < SILENCE
    return AudioFacts(rate, channels, samples, silent, silent and max(of_channels) >= SILENCE, clipped)


def read_header(path: str | Path) -> tuple[int, float, str, int]:
    """Return rate, length in seconds, coding (such as PCM_16) and number of channels of a file, from its header."""
    with _open_audio(Path(path)) as file:
        rate = int(file.samplerate)
        return rate, int(file.frames) / rate, str(file.subtype), int(file.channels)


def measure_powers(utterance: Utterance) -> tuple[NDArray[np.float32], int]:
    """Return the power of each 50 ms of an utterance, however long, and its length in samples of its file."""
    path = utterance.path
    with _open_audio(path) as file:
        rate, samples = int(file.samplerate), 0
        part = FilePart.of(utterance.start, utterance.end, rate, rate)
        powers, left = [np.zeros(0, np.float32)], np.zeros(0, np.float32)
        for piece in _pieces(file, path, part.first, part.last):
            wave = piece.mean(axis=1, dtype=np.float32)
            _check_peak(float(np.abs(wave).max()), path)
            samples += len(wave)
            left = np.concatenate((left, np.clip(wave, -1.0, 1.0)))
            powers.append(frame_powers(left, rate))
            left = left[len(powers[-1]) * round(FRAME * rate) :]
    return np.concatenate(powers), samples


def is_silent(wave: Wave) -> bool:
    """Return whether a waveform is silent."""
    return bool(np.abs(wave - wave.mean(dtype=np.float64)).max() < SILENCE)


def _load(path: Path, rate: int, start: int | None, end: int | None, most_minutes: float = np.inf) -> LoadedAudio:
    with _open_audio(path) as file:
        file_rate, channels = int(file.samplerate), int(file.channels)
        held = (int(file.frames) * SEGMENT_RATE + file_rate // 2) // file_rate
        last = None if end is None else end - int(file_rate != SEGMENT_RATE)  # rates round the end by up to a sample
        if (start, end) != (None, None) and (held <= (start or 0) or (last is not None and held < last)):
            raise InputError(_too_short(held, start, end), path=path)
        minutes = ((held if end is None else end) - (start or 0)) / SEGMENT_RATE / 60.0
        if int(file.frames) < _UNKNOWN and minutes > most_minutes:
            raise InputError(overlong_reason(minutes), path=path)
        part = FilePart.of(start, end, file_rate, rate)
        mixer = Mixer(part, file_rate, rate, channels)
        for piece in _pieces(file, path, part.first, part.last):
            mixer.add(piece)
    wave = mixer.wave()
    _check_peak(mixer.peak, path)
    if not len(wave) or (part.length is not None and len(wave) < part.length - 1):  # its header did not say how long
        held = (part.skipped + len(wave)) * SEGMENT_RATE // rate
        raise InputError(_too_short(held, start, end), path=path)
    return LoadedAudio(np.ascontiguousarray(np.clip(wave, -1.0, 1.0)), file_rate, channels, mixer.audible)


def _soundfile(path: str | Path) -> Any:
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the wheel came without its library
        raise MissingExtra("speech", f"{path}: audio") from None
    return soundfile


@contextmanager
def _open_audio(path: Path) -> Iterator[Any]:
    """Context with an open audio file whose header is true; what goes wrong while it is read names the file."""
    soundfile = _soundfile(path)
    reason = unreadable_reason(path, "audio")
    if reason:
        raise InputError(reason, path=path)
    try:
        with unchanged(path):
            with path.open("rb") as stream:
                size = sample_bytes(stream)
                streamed = repaired_stream(stream)
            if size is not None and size.held < size.announced:
                raise InputError(f"cut off: {size.held} of {size.announced} bytes of samples are there", path=path)
            with soundfile.SoundFile(os.fsencode(path) if streamed is None else streamed) as file:
                if not RATES[0] <= file.samplerate <= RATES[1]:
                    expected = f"{RATES[0] // 1000} to {RATES[1] // 1000} kHz"
                    raise InputError(f"sample rate of {file.samplerate} Hz; expected {expected}", path=path)
                if file.frames < _UNKNOWN:
                    check_size(4 * int(file.frames) * int(file.channels), path)
                yield file
    except ZeroEvidenceError:  # a ValueError too, but with a message of its own
        raise
    except (OSError, RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise InputError(conversion_advice(path) or f"cannot be read as audio: {_message(error)}", path=path) from None


def _pieces(file: Any, path: Path, first: int = 0, last: int | None = None) -> Iterator[NDArray[np.float32]]:
    """Yield samples x channels of a file, from the first sample to the last, exclusive, or to the end of the file."""
    total = int(file.frames)
    wanted = (total if last is None else min(last, total)) - first
    done, before = 0, first
    if first and file.seekable():
        file.seek(first)
    else:
        while before and (read := len(file.read(min(_PIECE, before), dtype="float32"))):
            before -= read
    while done < wanted and len(piece := file.read(min(_PIECE, wanted - done), dtype="float32", always_2d=True)):
        done += len(piece)
        yield piece
    if not done:
        raise InputError("empty: no samples", path=path)
    if done < wanted and total < _UNKNOWN:
        raise InputError(f"cut off: {done} of {wanted} samples can be decoded", path=path)


def _check_peak(peak: float, path: Path) -> None:
    if not np.isfinite(peak):
        raise InputError("samples that are not finite", path=path)
    if peak > _BEYOND:
        raise InputError(f"samples reach {peak:g}; expected them between -1 and 1", path=path)


def _too_short(held: int, start: int | None, end: int | None) -> str:
    return f"{held} samples at 16 kHz; expected the part from {start or 0} to {'its end' if end is None else end}"


def _message(error: Exception) -> str:
    """Return a library's message on one line, without the path that our message starts with."""
    text = " ".join(str(error).split())
    return text.rsplit(": ", 1)[-1].rstrip(".") or type(error).__name__
