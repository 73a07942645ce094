"""Recognisers of the user's: a program that writes what it hears.

A command with ``{wav}`` is run once for each utterance and prints its words. One with ``{list}`` is run once, on a file
with lines of `utterance path`, and prints lines of `utterance word word ...`, as Kaldi's ``text`` has them.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from zeroevidence.data.files.programs import run_program, split_command
from zeroevidence.data.formats.lists.transcripts import read_transcripts
from zeroevidence.data.speech.audio import load_audio, write_audio
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import InputError, UsageError
from zeroevidence.uncertainty.resampling.draws import Progress

_ONE, _ALL = "{wav}", "{list}"
_TIMEOUT = 600.0  # seconds for an utterance


def recognised(utterances: Sequence[Utterance], command: str, progress: Progress | None = None) -> dict[str, str]:
    """What a program hears in each utterance, which it gets as 16-bit wav files at 16 kHz.

    Parameters
    ----------
    utterances
        What it is to hear.
    command
        Program and arguments, quoted as in a shell; no shell is used.
    progress
        Called with the utterances done and wanted.

    Raises
    ------
    UsageError
        When the command names neither ``{wav}`` nor ``{list}``.
    InputError
        When the program cannot be run, fails, or leaves out an utterance.
    """
    arguments = split_command(command)
    kinds = [kind for kind in (_ONE, _ALL) if any(kind in one for one in arguments[1:])]
    if len(kinds) != 1:
        raise UsageError(f"the recogniser {command!r} has to name {_ONE} or {_ALL} among its arguments")
    with tempfile.TemporaryDirectory(prefix="zeroevidence-") as folder:
        if kinds == [_ALL]:
            return _all(utterances, arguments, Path(folder), progress)
        found = {}
        for done, one in enumerate(utterances, 1):
            file = _written(one, Path(folder, "utterance.wav"))
            found[one.id] = " ".join(_run(arguments, (_ONE, file), one.id, _TIMEOUT).split())
            if progress is not None:
                progress(done, len(utterances))
        return found


def _all(
    utterances: Sequence[Utterance], arguments: list[str], folder: Path, progress: Progress | None
) -> dict[str, str]:
    lines = []
    for done, one in enumerate(utterances, 1):
        lines.append(f"{one.id} {_written(one, folder / f'{done}.wav')}\n")
        if progress is not None:
            progress(done, len(utterances))
    listed, heard = folder / "wav.scp", folder / "text"
    listed.write_text("".join(lines), encoding="utf-8")
    text = _run(arguments, (_ALL, listed), "all utterances", _TIMEOUT * len(utterances))
    heard.write_text(text, encoding="utf-8")
    try:
        found = read_transcripts(heard)
    except InputError as error:
        raise InputError(f"what {Path(arguments[0]).name} wrote cannot be read: {error.reason}") from None
    missing = [one.id for one in utterances if one.id not in found]
    if missing:
        raise InputError(f"{Path(arguments[0]).name} wrote no line for {missing[0]!r}; expected one for each utterance")
    return {one.id: found[one.id] for one in utterances}


def _written(one: Utterance, path: Path) -> Path:
    write_audio(path, load_audio(one))
    return path


def _run(arguments: list[str], file: tuple[str, Path], what: str, timeout: float) -> str:
    """What the program prints when it is given a file in the place that its arguments name."""
    program, (name, path) = Path(arguments[0]).name, file
    replaced = [arguments[0], *(one.replace(name, str(path)) for one in arguments[1:])]
    said, errors = path.parent / "stdout", path.parent / "stderr"
    try:
        with said.open("wb") as output, errors.open("wb") as stream:
            status = run_program(replaced, stream, timeout, output)
    except OSError as error:
        raise InputError(f"{program} cannot be run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{what}: {program} did not end within {timeout:g} s") from None
    if status:
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise InputError(f"{what}: {program} ended with status {status}" + (f": {lines[-1].strip()}" if lines else ""))
    try:
        return said.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{what}: what {program} wrote is not UTF-8; expected text") from None
