"""Transcription of speech: by a recogniser of this package, with a cache, or by a program of the user.

The command of a program with ``{wav}`` is run once for each utterance and prints its text. One with ``{list}`` is run
once, on a file with lines of `utterance path`, and prints lines of `utterance word word ...`, as Kaldi's ``text`` has
them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from zeroevidence.attack.speech.array_store import array_key
from zeroevidence.attack.speech.batches import compute_ahead
from zeroevidence.data.files.json_values import load_typed
from zeroevidence.data.files.programs import fill_in, run_to_files, split_command
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.data.formats.lists.transcripts import read_transcripts
from zeroevidence.data.speech.audio import load_audio, write_audio
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError, UsageError
from zeroevidence.forking import cores
from zeroevidence.protect.voices.recognisers import RECOGNISERS, Transcript, load_recogniser, recognise
from zeroevidence.uncertainty.resampling.draws import Progress

_ONE, _ALL = "{wav}", "{list}"
_TIMEOUT = 600.0  # seconds for an utterance


@dataclass(frozen=True, slots=True)
class CachedRecogniser:
    """A recogniser of this package with a cache, so that a continued audit transcribes nothing twice.

    Parameters
    ----------
    name
        Name of the recogniser.
    folder
        Folder of the cache; None for no cache.
    """

    name: str
    folder: Path | None = None

    def __call__(self, wave: Wave) -> Transcript:
        """Return the transcript of speech at 16 kHz."""
        if self.folder is None:
            return recognise(self.name, wave)
        key = array_key(wave, self.name, RECOGNISERS[self.name].version)
        file = self.folder / key[:2] / f"{key[2:]}.json"
        with suppress(InputError):  # missing, or cut off
            return load_typed(Transcript, file, "transcript")
        transcript = recognise(self.name, wave)
        with suppress(OSError):  # a full disk is no reason to stop
            file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(asdict(transcript))
            write_atomically(file, lambda temporary: temporary.write_text(text, encoding="utf-8"))
        return transcript


def transcribe(
    utterances: Sequence[Utterance],
    load: Callable[[Utterance], Wave],
    recogniser: CachedRecogniser,
    progress: Progress | None,
) -> dict[str, Transcript]:
    """Return the transcript of each utterance.

    Parameters
    ----------
    utterances
        The utterances.
    load
        Returns the speech of an utterance at 16 kHz.
    recogniser
        The recogniser.
    progress
        Called with the number of utterances done and of all.
    """
    load_recogniser(recogniser.name)  # a missing package is reported before any work
    transcripts: dict[str, Transcript] = {}
    for utterance, transcript in zip(
        utterances, compute_ahead(lambda each: recogniser(load(each)), utterances, cores()), strict=True
    ):
        transcripts[utterance.id] = transcript
        if progress is not None:
            progress(len(transcripts), len(utterances))
    return transcripts


def run_recogniser(utterances: Sequence[Utterance], command: str, progress: Progress | None = None) -> dict[str, str]:
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
            return _run_on_list(utterances, arguments, Path(folder), progress)
        texts = {}
        file = Path(folder, "utterance.wav")
        for done, utterance in enumerate(utterances, 1):
            write_audio(file, load_audio(utterance))
            texts[utterance.id] = " ".join(_run(arguments, (_ONE, file), utterance.id, _TIMEOUT).split())
            if progress is not None:
                progress(done, len(utterances))
        return texts


def _run_on_list(
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
    printed = path.parent / "stdout"
    with printed.open("wb") as output:
        reason = run_to_files(fill_in(arguments, {name: path}), path.parent, timeout, output)
    if reason:
        raise InputError(f"{title}: {program} {reason}")
    try:
        return printed.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{title}: what {program} wrote is not UTF-8; expected text") from None
