"""Speech recognisers and synthetic voices that come in wheels: their registries, and what every one offers."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.optional import optional
from zeroevidence.protect.voices.processing import Wave
from zeroevidence.registry import Registry


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel with files of a model.

    Parameters
    ----------
    version
        Name and version, such as ``moonshine-voice==0.0.62``: the one whose digests are known.
    package
        The package that it installs.
    folder
        Folder of the files in that package.
    """

    version: str
    package: str
    folder: str

    def file(self, name: str, digest: str, *, extra: str, needed_for: str) -> Path:
        """Return a file, checked by its SHA-256.

        Raises
        ------
        MissingExtra
            Where the wheel is not installed; names the extra that installs it, and what needs it.
        InputError
            Where the file is not that of the version whose digest is known.
        """
        spec = importlib.util.find_spec(self.package)
        places = [] if spec is None else list(spec.submodule_search_locations or [])
        if not places:
            raise MissingExtra(extra, needed_for)
        path = Path(places[0]) / self.folder / name
        try:
            with path.open("rb") as stream:
                actual = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}; expected {self.version}", path=path) from None
        if actual != digest:
            raise InputError(f"SHA-256 {actual[:12]}...; expected {digest[:12]}... of {self.version}", path=path)
        return path


def one_thread_session(model: str | bytes, *, extra: str, needed_for: str) -> Any:
    """Return the session of an ONNX model that computes with the calling thread alone."""
    onnxruntime = optional("onnxruntime", extra, needed_for)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


RATE = 16_000  # samples per second that recognisers take
_LONGEST = 28.0  # seconds at once; the models were trained on up to 30
_TOKENS_PER_SECOND = 6.5  # of English; more are the same words again and again
_FOREIGN_TOKENS_PER_SECOND = 20.0  # other scripts take several tokens for a letter
ENGLISH = "en"
_FRAME = 0.05  # seconds over which loudness is measured, to cut where it is quiet


@dataclass(frozen=True, slots=True)
class Transcript:
    """The transcript of speech.

    Parameters
    ----------
    text
        The words, as the recogniser writes them; empty where it recognised none.
    confidence
        Mean of the natural logarithm of the probability of each token, 0 where the recogniser had no doubt.
    language
        Language that was recognised, where the recogniser knows more than one and hardly doubts it.
    ended
        Whether the recogniser came to an end by itself, within as many tokens as speech of that length has at most.
    """

    text: str
    confidence: float
    language: str | None = None
    ended: bool = True


def most_tokens(samples: int, language: str = ENGLISH) -> int:
    """Return how many tokens speech of that many samples has at most; a recogniser that writes more loops."""
    rate = _TOKENS_PER_SECOND if language == ENGLISH else _FOREIGN_TOKENS_PER_SECOND
    return int(rate * samples / RATE) + 2


# loaded, from speech at 16 kHz and the code of its language to its transcript; several threads may call it
Recogniser: TypeAlias = Callable[[NDArray[np.float32], str], Transcript]


@dataclass(frozen=True, slots=True)
class RecogniserKind:
    """A registered recogniser.

    Parameters
    ----------
    name
        Its name on the command line.
    title
        What it is, with its size and language.
    licence
        Licences of the program and its weights.
    version
        What its output depends on: enters cache keys.
    extra
        Extra of this package that installs it.
    least_confidence
        Confidence below which it has not understood.
    make
        Loads it.
    languages
        Codes of the languages that it understands.
    """

    name: str
    title: str
    licence: str
    version: str
    extra: str
    least_confidence: float
    make: Callable[[], Recogniser]
    languages: tuple[str, ...] = (ENGLISH,)


RECOGNISERS: Registry[RecogniserKind] = Registry("speech recogniser", package=__name__, order=lambda kind: kind.name)


@lru_cache
def load_recogniser(name: str) -> Recogniser:
    """Return the recogniser of that name, loaded once."""
    return RECOGNISERS.find(name).make()


def recognise(name: str, wave: NDArray[np.float32], language: str = ENGLISH) -> Transcript:
    """Return the transcript of speech at 16 kHz, which is cut where it is quiet if it is long."""
    recogniser = load_recogniser(name)
    parts = [recogniser(part, language) for part in cut_quietly(wave)]
    texts = [part.text for part in parts if part.text]
    languages = {part.language for part in parts} - {None}
    confidence, ended = min(part.confidence for part in parts), all(part.ended for part in parts)
    return Transcript(" ".join(texts), confidence, languages.pop() if len(languages) == 1 else None, ended)


def cut_quietly(wave: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Return parts of at most 28 s, cut in the quietest place of the second half of each.

    Examples
    --------
    >>> wave = np.ones(60 * RATE, np.float32)
    >>> wave[20 * RATE : 20 * RATE + 1600] = 0.0
    >>> [len(part) / RATE for part in cut_quietly(wave)][0]
    20.05
    """
    longest, frame = int(_LONGEST * RATE), int(_FRAME * RATE)
    parts = []
    while len(wave) > longest:
        second = wave[longest // 2 : longest]
        frames = second[: len(second) // frame * frame].reshape(-1, frame)
        at = longest // 2 + int(np.argmin((frames**2).sum(axis=1))) * frame + frame
        parts.append(wave[:at])
        wave = wave[at:]
    return [*parts, wave]


# loaded, from a text to speech at a rate, the same for the same text; several threads may call it
Synthesiser: TypeAlias = Callable[[str, int], Wave]


@dataclass(frozen=True, slots=True)
class SyntheticVoice:
    """A registered voice.

    Parameters
    ----------
    name
        Its name on the command line.
    title
        What speaks, with its language.
    licence
        Licences of the program, the voice and what the voice was made from.
    version
        What its output depends on: enters cache keys.
    make
        Loads it.
    language
        Code of the language that it speaks.
    """

    name: str
    title: str
    licence: str
    version: str
    make: Callable[[], Synthesiser]
    language: str = ENGLISH


SYNTHETIC_VOICES: Registry[SyntheticVoice] = Registry(
    "synthetic voice", package=__name__, order=lambda voice: voice.name
)


@lru_cache
def load_voice(name: str) -> Synthesiser:
    """Return the voice of that name, loaded once."""
    return SYNTHETIC_VOICES.find(name).make()


def speakable(text: str) -> str:
    """Return a text in one line without the brackets in which some voices take sounds for letters.

    Raises
    ------
    InputError
        Where there is nothing to say.

    Examples
    --------
    >>> speakable("A [[b]] c")
    'A b c'
    """
    line = " ".join(text.replace("[", " ").replace("]", " ").split())
    if not any(character.isalnum() for character in line):
        raise InputError(f"nothing to say in {text!r}; expected words")
    return line
