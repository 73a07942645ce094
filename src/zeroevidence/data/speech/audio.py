"""Reading and writing audio files: mono, one rate, single precision, between -1 and 1.

Channels are averaged, other rates resampled (soxr, very high quality). Samples beyond full scale, as lossy decoders and
resampling leave them, are limited to it; a file whose samples are far beyond was written in other units and is refused.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.files.errors import is_file, is_folder
from zeroevidence.data.files.size_limits import check_size
from zeroevidence.data.speech.corpus import SEGMENT_RATE, UNDECODED, Utterance
from zeroevidence.errors import InputError, MissingExtra

Wave = NDArray[np.float32]

_BEYOND = 8.0
_FULL = 0.999
_CLIPPED_RUN = 3
_LOSSY = {".ogg": ("OGG", "VORBIS"), ".opus": ("OGG", "OPUS"), ".mp3": ("MP3", "MPEG_LAYER_III")}
_UNKNOWN = 1 << 62  # decoders report an unknown length as a huge one
SILENCE = 1e-4
LEAST_SECONDS = 0.2  # of audible speech


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
    clipped
        Whether three samples in a row are at full scale.
    """

    rate: int
    channels: int
    samples: int
    silent: bool
    clipped: bool


@dataclass(frozen=True, slots=True)
class LoadedAudio:
    """A waveform, and the rate and the number of channels of its file."""

    wave: Wave
    rate: int
    channels: int


def load_speech(utterance: Utterance, rate: int = SEGMENT_RATE) -> LoadedAudio:
    """Return the audio of an utterance; silence and too short audio are errors.

    Raises
    ------
    InputError
        Naming the file, when it is silent or too short, or as `load_audio` does.
    """
    audio = _load(utterance.path, rate, utterance.start, utterance.end)
    reason = inaudible_reason(len(audio.wave) / rate, is_silent(audio.wave))
    if reason:
        raise InputError(reason, path=utterance.path)
    return audio


def inaudible_reason(seconds: float, silent: bool) -> str:
    """Return why no voice can be heard in audio of so many seconds; empty where one can.

    Examples
    --------
    >>> inaudible_reason(0.1, silent=False)
    '0.10 s of sound; expected at least 0.2 s to hear a voice in'
    >>> inaudible_reason(3.0, silent=False)
    ''
    """
    if silent:
        return "silent: no sample above -80 dB"
    if seconds < LEAST_SECONDS:
        return f"{seconds:.2f} s of sound; expected at least {LEAST_SECONDS} s to hear a voice in"
    return ""


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
    soundfile = _soundfile(path)
    values = np.asarray(wave)
    if values.ndim not in (1, 2) or not np.isfinite(values).all():
        raise InputError(f"shape {values.shape}; expected finite samples (x channels)", path=path)
    file = Path(path)
    format, subtype = _LOSSY.get(file.suffix.lower(), (None, "PCM_16"))
    try:
        soundfile.write(file, np.clip(values, -1.0, 1.0), rate, subtype=subtype, format=format)
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise InputError(f"cannot be written: {_message(error)}", path=path) from None


def inspect_audio(path: str | Path) -> AudioFacts:
    """Return the facts of a file, of which all samples are read.

    Silent: no sample of the channels' average is further than 1e-4 (-80 dB) from the mean. Clipped: three samples in a
    row at full scale (0.999 or more) in one channel.
    """
    samples, rate = _read(Path(path), None, None)
    _check(samples, Path(path))
    silent = is_silent(samples.mean(axis=1, dtype=np.float32))
    full = np.abs(samples) >= _FULL
    runs = full[2:] & full[1:-1] & full[:-2] if len(full) >= _CLIPPED_RUN else full[:0]
    return AudioFacts(rate, samples.shape[1], len(samples), silent, bool(runs.any()))


def audio_rate_and_seconds(path: str | Path) -> tuple[int, float]:
    """Return rate and length in seconds of a file, from its header."""
    soundfile = _soundfile(path)
    try:
        facts = soundfile.info(str(path))
    except (OSError, RuntimeError, TypeError) as error:
        raise InputError(f"cannot be read as audio: {_message(error)}", path=path) from None
    return int(facts.samplerate), int(facts.frames) / int(facts.samplerate)


def is_silent(wave: Wave) -> bool:
    """Return whether a waveform is silent."""
    return bool(np.abs(wave - wave.mean(dtype=np.float64)).max() < SILENCE)


def _load(path: Path, rate: int, start: int | None, end: int | None) -> LoadedAudio:
    samples, file_rate = _read(path, start, end)
    wave = samples.mean(axis=1, dtype=np.float32) if samples.shape[1] > 1 else samples[:, 0]
    _check(wave, path)
    if file_rate != rate:
        wave = _resampled(wave, file_rate, rate)
    if file_rate != SEGMENT_RATE and (start is not None or end is not None):
        first, last = _scaled(start or 0, rate), None if end is None else _scaled(end, rate)
        if len(wave) <= first or (last is not None and len(wave) < last - 1):
            raise InputError(_too_short(len(wave), rate, start, end), path=path)
        wave = wave[first:last]
    return LoadedAudio(np.ascontiguousarray(np.clip(wave, -1.0, 1.0)), file_rate, samples.shape[1])


def _soundfile(path: str | Path) -> Any:
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the wheel came without its library
        raise MissingExtra("speech", f"{path}: audio") from None
    return soundfile


def _read(path: Path, start: int | None, end: int | None) -> tuple[NDArray[np.float32], int]:
    """Return samples x channels and the file's rate; only the part asked for where the file is at 16 kHz."""
    soundfile = _soundfile(path)
    if not is_file(path):
        raise InputError("is a folder; expected audio" if is_folder(path) else "no such file", path=path)
    try:
        with soundfile.SoundFile(path) as file:
            rate, total = int(file.samplerate), int(file.frames)
            if total < _UNKNOWN:
                check_size(4 * total * int(file.channels), path)
            if rate == SEGMENT_RATE and (start is not None or end is not None):
                if total <= (start or 0) or (end is not None and total < end):
                    raise InputError(_too_short(total, rate, start, end), path=path)
                file.seek(start or 0)
                total = (end if end is not None else total) - (start or 0)
                samples = file.read(total, dtype="float32", always_2d=True)
            else:
                # with the number, because files in which one cannot seek (GSM 6.10) are read only so
                samples = file.read(total if total < _UNKNOWN else -1, dtype="float32", always_2d=True)
    except InputError:  # a ValueError too, but with a message of its own
        raise
    except (OSError, RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise InputError(conversion_advice(path) or f"cannot be read as audio: {_message(error)}", path=path) from None
    if not len(samples):
        raise InputError("empty: no samples", path=path)
    if len(samples) < total < _UNKNOWN:
        raise InputError(f"cut off: {len(samples)} of {total} samples can be decoded", path=path)
    return samples, rate


def _check(wave: NDArray[np.float32], path: Path) -> None:
    peak = float(np.abs(wave).max())
    if not np.isfinite(peak):
        raise InputError("samples that are not finite", path=path)
    if peak > _BEYOND:
        raise InputError(f"samples reach {peak:g}; expected them between -1 and 1", path=path)


def _resampled(wave: Wave, file_rate: int, rate: int) -> Wave:
    try:
        import soxr
    except ImportError:
        raise MissingExtra("speech", f"resampling from {file_rate} to {rate} Hz") from None
    result: Wave = soxr.resample(wave, file_rate, rate, quality="VHQ").astype(np.float32, copy=False)
    return result


def _scaled(samples: int, rate: int) -> int:
    return (samples * rate + SEGMENT_RATE // 2) // SEGMENT_RATE


def _too_short(total: int, rate: int, start: int | None, end: int | None) -> str:
    samples = total * SEGMENT_RATE // rate
    return f"{samples} samples at 16 kHz; expected the part from {start or 0} to {'its end' if end is None else end}"


def _message(error: Exception) -> str:
    """Return a library's message on one line, without the path that our message starts with."""
    text = " ".join(str(error).split())
    return text.rsplit(": ", 1)[-1].rstrip(".") or type(error).__name__
