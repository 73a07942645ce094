"""Speech that is anonymised in pieces: long recordings, written whole at the end, and what is piped through."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from zeroevidence.attack.voice_transforms import VoiceTransform, protect_piece, utterance_problem
from zeroevidence.data.audio import inaudible_reason, load_audio, measure_powers, write_waves
from zeroevidence.data.corpus import SEGMENT_RATE, Utterance
from zeroevidence.data.files import changed
from zeroevidence.data.store import Store, digest
from zeroevidence.data.waves import FRAME, PcmInput, Wave, cut_places, first_cut, frame_powers, pcm_samples, wave_header
from zeroevidence.data.writing import write_atomically
from zeroevidence.errors import InputError, Problem
from zeroevidence.parallel import compute_each
from zeroevidence.protect.release import file_digest
from zeroevidence.run import Run

TABLE = "pieces.csv"
_COLUMNS = ("utterance", "piece", "from", "to", "anonymised_from", "anonymised_to", "refused")


@dataclass(frozen=True, slots=True)
class PieceTimes:
    """Where a piece of a long recording lies, in seconds of the original and of the anonymised recording.

    Parameters
    ----------
    start
        Where it begins in the original.
    end
        Where it ends there.
    new_start
        Where it begins in the anonymised recording.
    new_end
        Where it ends there.
    refused
        Why it could not be anonymised, so that there is silence; empty where it was.
    silent
        Whether there is silence.
    """

    start: float
    end: float
    new_start: float
    new_end: float
    refused: str = ""
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256 of an original file and of what was written for one utterance of it, channels of the original, pieces."""

    original: str
    anonymised: str
    channels: int
    pieces: tuple[PieceTimes, ...] = ()


@dataclass(frozen=True, slots=True)
class LongRecording:
    """A recording that is anonymised in pieces.

    Parameters
    ----------
    utterance
        The recording.
    target
        Where the anonymised one is written.
    rate
        Its rate.
    subtype
        Coding of its samples.
    written
        What is known of it so far.
    key
        Of its entry in the journal.
    pieces
        The recording from one cut to the next.
    loudest
        Power of its loudest frame.
    seconds
        Its length.
    """

    utterance: Utterance
    target: Path
    rate: int
    subtype: str
    written: Digests
    key: str
    pieces: tuple[Utterance, ...]
    loudest: float
    seconds: float

    @property
    def tasks(self) -> list[_Task]:
        """What is to be done for each piece."""
        return [
            _Task(piece, self.rate, self.loudest, digest(self.key, str(piece.start), str(piece.end)))
            for piece in self.pieces
        ]

    @property
    def times(self) -> list[tuple[float, float]]:
        """Where each piece begins and ends in the file, in seconds."""
        first = (self.utterance.start or 0) / SEGMENT_RATE
        cuts = [first, *((piece.start or 0) / SEGMENT_RATE for piece in self.pieces[1:]), first + self.seconds]
        return list(pairwise(cuts))


@dataclass(frozen=True, slots=True)
class _Task:
    piece: Utterance
    rate: int
    loudest: float
    key: str


def cut_recording(utterance: Utterance, rate: int, seconds: float) -> tuple[tuple[Utterance, ...], float, float]:
    """Return the pieces of a recording, itself where it is not long, the power of its loudest frame, and its length.

    Parameters
    ----------
    utterance
        The recording.
    rate
        Rate of its file.
    seconds
        Length of a piece at most; up to twice as long a recording is not cut.
    """
    power, samples = measure_powers(utterance)
    first = utterance.start or 0
    places = [first + (place * SEGMENT_RATE + rate // 2) // rate for place in cut_places(power, rate, seconds)]
    spans = zip([utterance.start, *places], [*places, utterance.end], strict=True)
    pieces = tuple(replace(utterance, start=start, end=end) for start, end in spans)
    return pieces, float(power.max(initial=0.0)), samples / rate


def write_long(
    recordings: Sequence[LongRecording], transform: VoiceTransform, journal: Store, run: Run
) -> Iterator[tuple[str, Digests | Problem]]:
    """Write long recordings, and yield what was written for each identifier, or why nothing was.

    Parameters
    ----------
    recordings
        The recordings.
    transform
        The protector. A piece that it refuses is silent in the result, which says why.
    journal
        Keeps pieces until the recording is written.
    run
        Its cores share the pieces.
    """
    tasks = [task for recording in recordings for task in recording.tasks]
    step, done = run.progress("anonymising long recordings", "pieces"), 0
    with closing(compute_each(partial(_protect, transform, journal), tasks, run, little=True)) as computed:
        for recording in recordings:
            outcomes: list[str | Problem] = []
            for outcome in islice(computed, len(recording.pieces)):
                outcomes.append(outcome)
                done += 1
                step(done, len(tasks))
            problem = next((outcome for outcome in outcomes if isinstance(outcome, Problem)), None)
            yield recording.utterance.id, problem or _assemble(recording, list(map(str, outcomes)), journal)


def _protect(transform: VoiceTransform, journal: Store, task: _Task) -> str | Problem:
    """Keep a piece in the journal; return why it was refused, empty once it is kept, or the problem of its file."""
    if journal.load_array(task.key) is not None:
        return ""
    try:
        wave = load_audio(task.piece, task.rate)
    except InputError as error:
        return utterance_problem(task.piece, error)
    try:
        result = protect_piece(wave, task.rate, task.piece, transform, task.loudest)
    except InputError as error:
        return error.reason
    journal.save_array(task.key, result)
    return ""


def _assemble(recording: LongRecording, refusals: Sequence[str], journal: Store) -> Digests | Problem:
    """Write the pieces of a recording to one file, note it in the journal, and let go of the pieces."""
    tasks, rate, original = recording.tasks, recording.rate, recording.utterance.path
    times: list[PieceTimes] = []

    def waves() -> Iterator[Wave]:
        samples = 0
        for task, (start, end), refused in zip(tasks, recording.times, refusals, strict=True):
            wave = np.zeros(round((end - start) * rate), np.float32) if refused else journal.load_array(task.key)
            if wave is None:
                raise InputError("has lost a piece; the same command makes it again", path=journal.folder)
            new_start, samples = samples, samples + len(wave)
            times.append(PieceTimes(start, end, new_start / rate, samples / rate, refused, silent=not wave.any()))
            yield wave

    def write(temporary: Path) -> None:
        write_waves(str(temporary), recording.target, waves(), rate, recording.subtype)
        if all(piece.silent for piece in times):
            raise InputError(next(filter(None, refusals), inaudible_reason(0.0, silent=True)), path=original)
        if file_digest(original) != recording.written.original:
            raise changed(original)

    try:
        write_atomically(recording.target, write)
    except InputError as error:
        return utterance_problem(recording.utterance, error)
    written = replace(recording.written, anonymised=file_digest(recording.target), pieces=tuple(times))
    journal.save_value(recording.key, written)
    for task in tasks:
        journal.remove(task.key)
    return written


def pieces_table(written: Mapping[str, Digests]) -> str:
    """Return the table of the pieces of long recordings, as CSV; empty where there are none.

    Parameters
    ----------
    written
        What was written for each identifier.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for name, recording in written.items():
        for number, piece in enumerate(recording.pieces, 1):
            seconds = (piece.start, piece.end, piece.new_start, piece.new_end)
            writer.writerow([name, number, *(f"{each:.3f}" for each in seconds), piece.refused])
    return f"{','.join(_COLUMNS)}\n{buffer.getvalue()}" if buffer.getvalue() else ""


PIPED_PIECE = 4.0  # seconds
_PIPE = "standard input"
PIPED = Utterance(_PIPE, _PIPE, Path("-"))


@dataclass(frozen=True, slots=True)
class PipedSpeech:
    """What was piped through a protector.

    Parameters
    ----------
    waited
        Seconds of speech that are heard before the first of them is spoken, at most.
    seconds
        Length of each piece.
    computed
        Seconds that each took to compute.
    silenced
        How many were refused and are silent.

    Examples
    --------
    >>> print(PipedSpeech(5.0, (4.0, 2.0), (1.2, 0.6)))
    2 pieces, 6.0 s: latency at most 6.2 s, of which 5.0 s are waited for and 1.2 s computed (mean 0.9 s); 0.30 of \
real time
    """

    waited: float
    seconds: tuple[float, ...]
    computed: tuple[float, ...]
    silenced: int = 0

    def __str__(self) -> str:
        number, total, most = len(self.seconds), sum(self.seconds), max(self.computed)
        silent = f"; {self.silenced} refused and silent" if self.silenced else ""
        return (
            f"{number} piece{'s'[: number != 1]}, {total:.1f} s: latency at most {self.waited + most:.1f} s, of which "
            f"{self.waited:.1f} s are waited for and {most:.1f} s computed (mean {sum(self.computed) / number:.1f} s); "
            f"{sum(self.computed) / total:.2f} of real time{silent}"
        )


def anonymise_pipe(
    speech: PcmInput, sink: BinaryIO, transform: VoiceTransform, piece: float, say: Callable[[str], None]
) -> PipedSpeech:
    """Protect a stream piece by piece, each written as soon as it is there; a refused one is silence of its length.

    Parameters
    ----------
    speech
        The stream.
    sink
        Where 16-bit samples in one channel go, behind a header if the stream has one.
    transform
        The protector.
    piece
        Seconds of a piece at most.
    say
        Called with why a piece is silent.

    Raises
    ------
    InputError
        Where the stream is cut off, or holds no samples; what came before is written.
    """
    rate, size, longest = speech.rate, round(FRAME * speech.rate), round(piece / FRAME)
    loudest, done, silenced = 0.0, 0, 0
    seconds: list[float] = []
    computed: list[float] = []
    sink.write(wave_header(rate) if speech.is_wave else b"")
    for wave in cut_pipe(speech, longest):
        begun = time.monotonic()
        loudest = max(loudest, float(frame_powers(wave, rate).max(initial=0.0)))
        try:
            result = protect_piece(wave, rate, PIPED, transform, loudest)
        except InputError as error:
            say(f"{_PIPE}, {done / rate:.1f} to {(done + len(wave)) / rate:.1f} s: {error.reason}; silent there")
            result, silenced = np.zeros(len(wave), np.float32), silenced + 1
        computed.append(time.monotonic() - begun)
        seconds.append(len(wave) / rate)
        done += len(wave)
        sink.write(pcm_samples(result).tobytes())
        sink.flush()
    if not seconds:
        raise InputError("no samples", path=_PIPE)
    return PipedSpeech((longest + longest // 4) * size / rate, tuple(seconds), tuple(computed), silenced)


def cut_pipe(speech: PcmInput, longest: int) -> Iterator[Wave]:
    """Yield pieces of at most so many frames of a stream, cut where it is quiet; the last also where it is cut off."""
    held, size, problem = np.zeros(0, np.float32), round(FRAME * speech.rate), None
    blocks = speech.blocks(_PIPE)
    while True:
        try:
            block = next(blocks, None)
        except InputError as error:
            block, problem = None, error
        held = held if block is None else np.concatenate((held, block))
        enough = longest if block is None else longest + longest // 4
        while len(held) >= enough * size and (at := first_cut(frame_powers(held, speech.rate), longest)) is not None:
            place = at * size + size // 2
            yield held[:place]
            held = held[place:]
        if block is None:
            break
    if len(held):
        yield held
    if problem is not None:
        raise problem
