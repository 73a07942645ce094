"""Features of utterances to train on, computed once and kept in one file."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.array_store import VoiceTransform, protect
from zeroevidence.attack.onnx_cards import BANDS, FRONT_ENDS, EncoderCard
from zeroevidence.attack.parallel import in_batches, in_processes, on_cluster
from zeroevidence.attack.training.frame_set import HALF, Frames, FrameSet, MappedFrames, frames_digest
from zeroevidence.attack.utterance_batches import collect, utterance_problem
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import digest
from zeroevidence.data.waves import Wave
from zeroevidence.errors import LISTER, InputError, Problem, UsageError, check_stop
from zeroevidence.optional import one_blas_thread
from zeroevidence.run import Run, Step, no_step

_FRAMES, _INDEX = ".frames", ".index"
_DIGITS = 18  # of a place in a file


@dataclass(frozen=True, slots=True)
class StoredFrames:
    """Where the frames of an utterance are."""

    file: str
    start: int
    length: int
    digest: str


@dataclass(slots=True)
class FeatureStore:
    """A folder of features by key; a context, at whose end its files are closed.

    Parameters
    ----------
    folder
        The folder.
    bands
        Bands of each frame.
    """

    folder: Path
    bands: int
    _known: dict[str, StoredFrames] = field(default_factory=dict)
    _maps: dict[str, MappedFrames] = field(default_factory=dict)
    _writer: _Writer | None = None
    _lock: Any = field(default_factory=threading.Lock)

    def __enter__(self) -> FeatureStore:
        for index in sorted(self.folder.glob(f"*{_INDEX}")):
            self._known.update(_read_index(index, self.bands))
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def find(self, key: str) -> StoredFrames | None:
        """Return where the features of a key are, or None where there are none that are whole."""
        stored = self._known.get(key)
        if stored is None:
            return None
        with self._lock:
            block = self.open(stored.file)
        frames = block.frames[stored.start : stored.start + stored.length]
        whole = len(frames) == stored.length and frames_digest(frames).tobytes().hex() == stored.digest
        block.visited(frames.nbytes)
        return stored if whole else None

    def open(self, file: str) -> MappedFrames:
        """Return the frames of a file."""
        if file not in self._maps:
            self._maps[file] = MappedFrames(self.folder / file, self.bands)
        return self._maps[file]

    def add(self, key: str, frames: Frames) -> StoredFrames:
        """Store the frames of a key.

        Raises
        ------
        OSError
            Naming the folder, when it cannot be written.
        """
        with self._lock:
            try:
                if self._writer is None:
                    self._writer = _Writer(self.folder)
                return self._writer.append(key, frames)
            except OSError as error:
                self._writer = None  # its last frames may be torn
                raise OSError(error.errno, f"features cannot be stored: {error.strerror}", str(self.folder)) from None


class _Writer:
    """Appends to a file of frames and to its index."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = secrets.token_hex(8)
        self.file = name + _FRAMES
        self._frames: IO[bytes] = (folder / self.file).open("xb", buffering=0)
        self._index: IO[bytes] = (folder / f"{name}{_INDEX}").open("xb", buffering=0)
        self._end = 0

    def append(self, key: str, frames: Frames) -> StoredFrames:
        half = np.ascontiguousarray(frames, HALF)
        stored = StoredFrames(self.file, self._end, len(half), frames_digest(half).tobytes().hex())
        _write(self._frames, half.data.cast("B"))
        _write(self._index, memoryview(f"{key} {stored.start} {stored.length} {stored.digest}\n".encode()))
        self._end += len(half)
        return stored

    def close(self) -> None:
        for stream in (self._frames, self._index):
            stream.close()


def _write(stream: IO[bytes], data: memoryview) -> None:
    while data:
        data = data[stream.write(data) :]


def _read_index(index: Path, bands: int) -> Mapping[str, StoredFrames]:
    """Return what the lines of an index say, as far as they are whole and the frames are there."""
    file = index.with_suffix(_FRAMES)
    try:
        size = file.stat().st_size // (bands * HALF.itemsize)
        *lines, _ = index.read_text(encoding="ascii", errors="replace").split("\n")
    except OSError:
        return {}
    stored = {}
    for line in lines:
        key, *rest = line.split(" ")
        if len(rest) != 3 or not all(number.isdecimal() and len(number) <= _DIGITS for number in rest[:2]):
            continue
        start, length = int(rest[0]), int(rest[1])
        if length > 0 and start + length <= size:
            stored[key] = StoredFrames(file.name, start, length, rest[2])
    return stored


_BATCH = 16
_MANY = 4096  # utterances from which on processes read, each of which takes a second to start
_VERSION = "1"  # of the front ends; raised whenever features would change


def read_features(
    utterances: Sequence[Utterance],
    card: EncoderCard,
    store: Path | None = None,
    *,
    transform: VoiceTransform | None = None,
    step: Step = no_step,
    run: Run = Run(),
) -> tuple[FrameSet, list[str]]:
    """Return the features of utterances that an encoder takes, in half precision, and a line on each conversion.

    Parameters
    ----------
    utterances
        The utterances.
    card
        The card of the encoder.
    store
        A folder that keeps the features of every utterance, so that interrupted reading continues; None for memory.
    transform
        Protects each waveform before features are computed.
    step
        Called with the number of utterances done and of all.
    run
        Its cores are threads, or processes where many utterances are not protected first, each on one core. With a
        scheduler its workers read the speech into `store`; both must be where they and this machine see them.

    Raises
    ------
    InputError
        Once all others are read, naming a file that is missing, unreadable, silent or too short, and how many more are.
    """
    if card.front_end not in FRONT_ENDS:
        raise InputError(f"{card.name}: takes {card.front_end}; expected an encoder of features")
    threads = run.workers
    with ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        kept = None if store is None else stack.enter_context(FeatureStore(store, BANDS))
        read: Callable[[list[tuple[int, Utterance]]], _Outcomes] = _FeatureReader(card, transform, kept).read
        if run.scheduler is not None:
            if store is None or transform is not None:
                raise UsageError("a cluster reads speech that is protected already, into a folder")
            utterances = [replace(utterance, path=utterance.path.absolute()) for utterance in utterances]
            make = partial(_open_reader, card, store.absolute())
            read, threads = stack.enter_context(on_cluster(make, run.scheduler))
        elif store is not None and transform is None and threads > 1 and len(utterances) >= _MANY:
            read = stack.enter_context(in_processes(partial(_open_reader, card, store)))
        batches = stack.enter_context(closing(in_batches(read, utterances, _BATCH, threads)))
        results, problems = collect(batches, len(utterances), step)
        if problems:
            raise InputError.of(problems, LISTER if transform is None else "")
        ordered = [results[at] for at in range(len(utterances))]
        speakers = np.array([utterance.speaker for utterance in utterances], dtype=np.str_)
        frames = _frame_set([result.frames for result in ordered], speakers, kept)
    files = {utterance.path: result for utterance, result in zip(utterances, ordered, strict=True)}.values()
    channels = Counter(file.channels for file in files if file.channels > 1)
    rates = Counter(file.rate for file in files if file.rate != card.sample_rate)
    averaged = [f"{_files(number)} had {count} channels, averaged" for count, number in sorted(channels.items())]
    resampled = [f"{_files(number)} at {rate / 1000:g} kHz, resampled" for rate, number in sorted(rates.items())]
    return frames, averaged + resampled


def _frame_set(frames: list[StoredFrames | Frames], speakers: StrArray, store: FeatureStore | None) -> FrameSet:
    """Return features with their speakers, where they are."""
    stored = [place for place in frames if isinstance(place, StoredFrames)]
    if store is None:
        return FrameSet.join([array for array in frames if not isinstance(array, StoredFrames)], speakers)
    files = sorted({place.file for place in stored})
    number = {file: at for at, file in enumerate(files)}
    return FrameSet(
        tuple(store.open(file) for file in files),
        np.array([number[place.file] for place in stored], np.int64),
        np.array([place.start for place in stored], np.int64),
        np.array([place.length for place in stored], np.int64),
        speakers,
        np.frombuffer(bytes.fromhex("".join(place.digest for place in stored)), np.uint8).reshape(len(stored), -1),
    )


@dataclass(frozen=True, slots=True)
class _UtteranceFeatures:
    frames: StoredFrames | Frames
    rate: int  # of the file
    channels: int


_Outcomes: TypeAlias = list[tuple[int, _UtteranceFeatures | Problem]]


@dataclass(frozen=True, slots=True)
class _FeatureReader:
    card: EncoderCard
    transform: VoiceTransform | None
    store: FeatureStore | None

    def read(self, part: list[tuple[int, Utterance]]) -> _Outcomes:
        """Return the features of each utterance, or its problem."""
        outcomes: _Outcomes = []
        for at, utterance in part:
            check_stop()
            try:
                audio = load_speech(utterance, self.card.sample_rate)
                frames = self._frames(audio.wave, utterance)
                outcomes.append((at, _UtteranceFeatures(frames, audio.rate, audio.channels)))
            except InputError as error:
                outcomes.append((at, utterance_problem(utterance, error)))
        return outcomes

    def _frames(self, wave: Wave, utterance: Utterance) -> StoredFrames | Frames:
        rate, front_end, transform = self.card.sample_rate, self.card.front_end, self.transform
        drawn = () if transform is None else (transform.fingerprint, utterance.id, utterance.speaker)
        key = digest(front_end, str(rate), _VERSION, *drawn, wave)
        stored = None if self.store is None else self.store.find(key)
        if stored is not None:
            return stored
        frames = FRONT_ENDS[front_end](protect(wave, rate, utterance, transform)).astype(np.float16)
        return frames if self.store is None else self.store.add(key, frames)


def _open_reader(card: EncoderCard, store: Path) -> Callable[[list[tuple[int, Utterance]]], _Outcomes]:
    """Return the function of a process that reads speech."""
    return _FeatureReader(card, None, FeatureStore(store, BANDS).__enter__()).read


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
