"""What is measured of speech for its utility: its pitch, and its transcripts by recognisers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.speech_signal import RATE, SpeechSignal
from zeroevidence.data.audio import load_audio, load_speech, write_audio
from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.formats.lists import read_transcripts
from zeroevidence.data.programs import fill_in, run_to_files, split_command
from zeroevidence.data.store import Store, digest
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.evaluation.utility import UtilityRowSettings, utility_row, utterance_pairs, who_speaks
from zeroevidence.measure.utility import PitchView
from zeroevidence.parallel import compute_each
from zeroevidence.protect.voices.speech_models import RECOGNISERS, Transcript, load_recogniser, recognise
from zeroevidence.run import Run, Step, no_step

_FEWEST = 20  # frames of 10 ms with a voice on both sides, from which a correlation is computed


def evaluate_pitch(
    original: Corpus,
    anonymised: Corpus,
    *,
    labels: Mapping[str, str] | None = None,
    options: Options = Options(),
    run: Run = Run(),
) -> Evaluation:
    """Return the correlation of pitch before and after anonymisation, with an interval by speaker.

    Parameters
    ----------
    original
        The original utterances.
    anonymised
        The same utterances; those with less than 0.2 s of voice in common are left out.
    labels
        As in `evaluate_transcripts`.
    options
        As in `evaluate_transcripts`.
    run
        As in `evaluate_transcripts`.

    Raises
    ------
    InputError
        When no utterance has enough voice.
    """
    step = run.progress("tracking pitch", "utterances")
    pairs = utterance_pairs(original, anonymised)
    correlations = np.full(len(pairs), np.nan)
    for place, correlation in enumerate(compute_each(_pitch_kept, pairs, run, little=True)):
        correlations[place] = correlation
        step(place + 1, len(pairs))
    rows = np.flatnonzero(~np.isnan(correlations))
    if not len(rows):
        raise InputError("no utterance has enough voice in both corpora; expected speech whose pitch can be followed")
    speakers = {before.id: before.speaker for before, _ in pairs}
    names = [pairs[place][0].id for place in rows]
    columns = np.stack((correlations[rows], np.ones(len(rows))), axis=1)
    how = UtilityRowSettings(labels or {}, "anonymised", options, run)
    counts = {"utterances": len(rows)}
    return utility_row(columns, columns[:, 1], lambda sums: PitchView(*sums), who_speaks(names, speakers), counts, how)


def _pitch_kept(pair: tuple[Utterance, Utterance]) -> float:
    return pitch_correlation(*(SpeechSignal(load_speech(utterance, RATE).wave).pitch for utterance in pair))


def pitch_correlation(original: FloatArray, anonymised: FloatArray) -> float:
    """Return the correlation of two tracks where both have a voice; the second is stretched to the length of the first.

    NaN where there is too little voice, or a pitch that does not move at all.

    Examples
    --------
    >>> melody = 120.0 + 20.0 * np.sin(np.arange(60) / 9.0)
    >>> round(pitch_correlation(melody, 1.5 * melody), 6)
    1.0
    >>> round(pitch_correlation(melody, 240.0 - melody), 6)
    -1.0
    """
    if not len(original) or not len(anonymised):
        return np.nan
    at = np.round(np.linspace(0.0, len(anonymised) - 1.0, len(original))).astype(np.int64)
    first, second = original, anonymised[at]
    both = ~np.isnan(first) & ~np.isnan(second)
    if both.sum() < _FEWEST or not first[both].std() or not second[both].std():
        return np.nan
    return float(np.corrcoef(first[both], second[both])[0, 1])


_ONE, _ALL = "{wav}", "{list}"
_TIMEOUT = 600.0  # seconds for an utterance


@dataclass(frozen=True, slots=True)
class CachedRecogniser:
    """A recogniser of this package with a cache, so that a continued audit transcribes nothing twice.

    Parameters
    ----------
    name
        Name of the recogniser.
    store
        Keeps transcripts; None for no cache.
    """

    name: str
    store: Store | None = None

    def __call__(self, wave: Wave) -> Transcript:
        """Return the transcript of speech at 16 kHz."""
        if self.store is None:
            return recognise(self.name, wave)
        key = digest(self.name, RECOGNISERS[self.name].version, wave)
        transcript = self.store.load_value(key, Transcript)
        if transcript is None:
            transcript = recognise(self.name, wave)
            self.store.save_value(key, transcript)
        return transcript


def transcribe(
    utterances: Sequence[Utterance],
    load: Callable[[Utterance], Wave],
    recogniser: CachedRecogniser,
    title: str = "",
    run: Run = Run(),
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
    title
        What kind of speech progress says that it is.
    run
        Its cores are threads, which share the recogniser.
    """
    step = run.progress(f"transcribing {title}speech, {recogniser.name}", "utterances")
    load_recogniser(recogniser.name)  # a missing package is reported before any work
    transcripts: dict[str, Transcript] = {}
    run = replace(run, scheduler=None)
    heard = compute_each(lambda each: recogniser(load(each)), utterances, run, threads=True)
    for utterance, transcript in zip(utterances, heard, strict=True):
        transcripts[utterance.id] = transcript
        step(len(transcripts), len(utterances))
    return transcripts


def run_recogniser(utterances: Sequence[Utterance], command: str, step: Step = no_step) -> dict[str, str]:
    """Return the text that a program recognises in each utterance, which it gets as 16-bit wav files at 16 kHz.

    Parameters
    ----------
    utterances
        The utterances.
    command
        Program and arguments, quoted as in a shell; no shell is used.
    step
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
            return _run_on_list(utterances, arguments, Path(folder), step)
        texts = {}
        file = Path(folder, "utterance.wav")
        for done, utterance in enumerate(utterances, 1):
            write_audio(file, load_audio(utterance))
            texts[utterance.id] = " ".join(_run(arguments, (_ONE, file), utterance.id, _TIMEOUT).split())
            step(done, len(utterances))
        return texts


def _run_on_list(utterances: Sequence[Utterance], arguments: list[str], folder: Path, step: Step) -> dict[str, str]:
    lines = []
    for done, utterance in enumerate(utterances, 1):
        write_audio(folder / f"{done}.wav", load_audio(utterance))
        lines.append(f"{utterance.id} {folder / f'{done}.wav'}\n")
        step(done, len(utterances))
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
