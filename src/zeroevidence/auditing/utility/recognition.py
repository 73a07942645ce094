"""Speech recognition by a program of the user.

A command with ``{wav}`` is run once for each utterance and prints its text. One with ``{list}`` is run once, on a file
with lines of `utterance path`, and prints lines of `utterance word word ...`, as Kaldi's ``text`` has them.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from zeroevidence.data.files.programs import fill_in, run_program, split_command
from zeroevidence.data.formats.lists.transcripts import read_transcripts
from zeroevidence.data.speech.audio import load_audio, write_audio
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import InputError, UsageError
from zeroevidence.uncertainty.resampling.draws import Progress

_ONE, _ALL = "{wav}", "{list}"
_TIMEOUT = 600.0  # seconds for an utterance


def recognise_speech(utterances: Sequence[Utterance], command: str, progress: Progress | None = None) -> dict[str, str]:
    """Return the text that a program recognises in each utterance, which it gets as 16-bit wav files at 16 kHz.

    Parameters
    ----------
    utterances
        The utterances.
    command
        Program and arguments, quoted as in a shell; no shell is used.
    progress
        Called with the number of utterances done and of all.

    Raises
    ------
    UsageError
        When the command names neither ``{wav}`` nor ``{list}``.
    InputError
        When the program cannot be run, fails, or leaves out an utterance.
    """
    arguments = split_command(command)
    kinds = [kind for kind in (_ONE, _ALL) if any(kind in argument for argument in arguments[1:])]
    if len(kinds) != 1:
        raise UsageError(f"the recogniser {command!r} has to name {_ONE} or {_ALL} among its arguments")
    with tempfile.TemporaryDirectory(prefix="zeroevidence-") as folder:
        if kinds == [_ALL]:
            return _recognise_list(utterances, arguments, Path(folder), progress)
        texts = {}
        file = Path(folder, "utterance.wav")
        for done, utterance in enumerate(utterances, 1):
            write_audio(file, load_audio(utterance))
            texts[utterance.id] = " ".join(_run(arguments, (_ONE, file), utterance.id, _TIMEOUT).split())
            if progress is not None:
                progress(done, len(utterances))
        return texts


def _recognise_list(
    utterances: Sequence[Utterance], arguments: list[str], folder: Path, progress: Progress | None
) -> dict[str, str]:
    lines = []
    for done, utterance in enumerate(utterances, 1):
        write_audio(folder / f"{done}.wav", load_audio(utterance))
        lines.append(f"{utterance.id} {folder / f'{done}.wav'}\n")
        if progress is not None:
            progress(done, len(utterances))
    listing, output = folder / "wav.scp", folder / "text"
    listing.write_text("".join(lines), encoding="utf-8")
    output.write_text(_run(arguments, (_ALL, listing), "all utterances", _TIMEOUT * len(utterances)), encoding="utf-8")
    program = Path(arguments[0]).name
    try:
        texts = read_transcripts(output)
    except InputError as error:
        raise InputError(f"what {program} wrote cannot be read: {error.reason}") from None
    missing = [utterance.id for utterance in utterances if utterance.id not in texts]
    if missing:
        raise InputError(f"{program} wrote no line for {missing[0]!r}; expected one for each utterance")
    return {utterance.id: texts[utterance.id] for utterance in utterances}


def _run(arguments: list[str], file: tuple[str, Path], title: str, timeout: float) -> str:
    """Return what the program prints when a file takes the place that its arguments name."""
    program, (name, path) = Path(arguments[0]).name, file
    printed, errors = path.parent / "stdout", path.parent / "stderr"
    try:
        with printed.open("wb") as output, errors.open("wb") as stream:
            status = run_program(fill_in(arguments, {name: path}), stream, timeout, output)
    except OSError as error:
        raise InputError(f"{program} cannot be run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{title}: {program} did not end within {timeout:g} s") from None
    if status:
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise InputError(f"{title}: {program} ended with status {status}" + (f": {lines[-1].strip()}" if lines else ""))
    try:
        return printed.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{title}: what {program} wrote is not UTF-8; expected text") from None
