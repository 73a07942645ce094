"""External protector: any program that maps a wav file to a wav file.

The files are 16-bit PCM, which every audio tool reads and writes. A folder that an anonymiser has already written needs
no protector: it is read as a corpus.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.programs import fill_in, run_to_files, split_command, with_last_line
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.voices import Spelling, register_voice
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave, fit_length, limit_peak

_VERSION = 1  # of what surrounds the program: enters cache keys


@dataclass(frozen=True, slots=True)
class External:
    """Runs a command once for each utterance, without a shell, on files in a temporary folder.

    Parameters
    ----------
    command
        Program and arguments, quoted as in a shell; ``{input}`` and ``{output}`` stand for the two files, and
        ``{seed}`` for a whole number below 2 ** 31 that differs between utterances and between seeds.
    timeout
        Seconds after which the command is stopped and the utterance refused.
    tolerance
        Seconds by which the output may be longer or shorter than the input; it is cut, or silence is added.
    version
        Of the program, as you name it; it enters the fingerprint, which cannot see that a program has changed.
    seed
        Decides, with the utterance's identifier, the number in the place of ``{seed}``; without it a program draws for
        itself.

    Examples
    --------
    >>> from zeroevidence.protect import External
    >>> sox = External("sox {input} {output} pitch 300", version="14.4")
    >>> sox.name
    'command:sox'
    >>> sox.fingerprint
    "command/1('sox {input} {output} pitch 300', tolerance=0.1, version='14.4')"
    """

    command: str
    timeout: float = 600.0
    tolerance: float = 0.1
    version: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a command that cannot work, before any audio is read."""
        arguments = split_command(self.command)
        for placeholder in ("{input}", "{output}"):
            if not any(placeholder in argument for argument in arguments[1:]):
                raise UsageError(f"the command {self.command!r} has no {placeholder} among its arguments")
        if not self.timeout > 0 or not self.tolerance >= 0:
            raise UsageError("a command needs a timeout above 0 and a tolerance of at least 0 seconds")

    @property
    def name(self) -> str:
        """The program, without its arguments."""
        return f"command:{Path(split_command(self.command)[0]).name}"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        seed = f", seed={self.seed}" if "{seed}" in self.command else ""
        return f"command/{_VERSION}({self.command!r}, tolerance={self.tolerance!r}, version={self.version!r}{seed})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the output of the program, at the same rate and of the same length."""
        from zeroevidence.data.audio import load_audio, write_audio

        wave, place = np.asarray(wave), f"utterance {utterance.id}"
        if wave.ndim != 1 or not np.issubdtype(wave.dtype, np.floating) or not np.isfinite(wave).all():
            raise InputError("expected one channel of finite floats", path=place)
        if not len(wave):
            return wave.astype(np.float32)
        # The user's own folder stays the current one, so that relative paths in the command mean what they say.
        with tempfile.TemporaryDirectory(prefix="zeroevidence-") as folder:
            source, target = Path(folder, "input.wav"), Path(folder, "output.wav")
            write_audio(source, limit_peak(wave.astype(np.float64)), rate)
            reason = run_to_files(self._arguments(source, target, utterance), Path(folder), self.timeout)
            errors = Path(folder, "stderr")
            if not reason and not target.is_file():
                reason = with_last_line("wrote no output", errors)
            if reason:
                raise InputError(f"{self.name} {reason}", path=place)
            try:
                result = load_audio(target, rate)
            except InputError as error:
                reason = with_last_line(f"wrote no usable wav file ({error.reason})", errors)
                raise InputError(f"{self.name} {reason}", path=place) from None
        difference = abs(len(result) - len(wave)) / rate
        if difference > self.tolerance:
            raise InputError(
                f"the output of {self.name} differs by {difference:.2f} s in length (allowed: {self.tolerance:g} s); "
                "protect to a folder and audit that instead",
                path=place,
            )
        return limit_peak(fit_length(result.astype(np.float64), len(wave)))

    def _arguments(self, source: Path, target: Path, utterance: UtteranceInfo) -> list[str]:
        number = str(int.from_bytes(hashlib.sha256(f"{self.seed}\0{utterance.id}".encode()).digest()[:4], "big") >> 1)
        return fill_in(split_command(self.command), {"{input}": source, "{output}": target, "{seed}": number})


@register_voice(
    "command",
    "Runs a program that maps a wav file to a wav file.",
    Spelling("command:'PROGRAM {input} {output}'"),
    keeps="Whatever the program keeps.",
    needs="The program, and what it was trained on.",
)
def command(text: str, seed: int) -> External:
    """Return the protector of a command."""
    return External(text, seed=seed)
