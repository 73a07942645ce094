"""Cards of encoders in ONNX files, and the log-mel front ends that they name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from zeroevidence._typing import FloatArray
from zeroevidence.data.files import is_file, naming_file
from zeroevidence.data.json_values import known_fields, load_json, shortened, typed
from zeroevidence.data.printable import file_name_text
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, UsageError

Features = NDArray[np.float32]

RATE = 16_000
_WIDTH, _STEP, BANDS = 400, 160, 80
_POWER_FLOOR, _RANGE_DB = 1e-10, 80.0
_KALDI_FLOOR = float(np.finfo(np.float32).eps)
_HAMMING: FloatArray = 0.54 - 0.46 * np.cos(2.0 * np.pi * np.arange(_WIDTH) / _WIDTH)
_POVEY: FloatArray = (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(_WIDTH) / (_WIDTH - 1))) ** 0.85


def speechbrain_fbank(wave: Wave) -> Features:
    """Return frames x 80 decibels as SpeechBrain computes them for speaker encoders, without the utterance's mean."""
    padded = np.pad(np.asarray(wave, np.float32), _WIDTH // 2)
    turned = np.fft.rfft(_frames(padded) * _HAMMING, axis=1)
    power = _filtered(turned.real**2 + turned.imag**2, _sparse(_speechbrain_filters))
    decibels = 10.0 * np.log10(np.maximum(power, _POWER_FLOOR))
    decibels = np.maximum(decibels, decibels.max() - _RANGE_DB)
    return _centred(decibels)


def kaldi_fbank(wave: Wave) -> Features:
    """Return frames x 80 logarithms as Kaldi's ``compute-fbank-feats`` without dither and the utterance's mean."""
    frames = _frames(np.asarray(wave, np.float64))
    frames = frames - frames.mean(axis=1, keepdims=True)
    emphasised = np.empty_like(frames)
    emphasised[:, 1:] = frames[:, 1:] - 0.97 * frames[:, :-1]
    emphasised[:, 0] = 0.03 * frames[:, 0]
    turned = np.fft.rfft(emphasised * _POVEY, n=512, axis=1)
    power = _filtered(turned.real**2 + turned.imag**2, _sparse(_kaldi_filters))
    return _centred(np.log(np.maximum(power, _KALDI_FLOOR)))


FRONT_ENDS: dict[str, Callable[[Wave], Features]] = {"speechbrain-fbank": speechbrain_fbank, "kaldi-fbank": kaldi_fbank}


def _frames(wave: FloatArray) -> FloatArray:
    """Return whole frames of a signal, without a copy."""
    if len(wave) < _WIDTH:
        raise InputError(f"{len(wave)} samples; expected at least {_WIDTH} (25 ms) for one frame")
    return np.lib.stride_tricks.sliding_window_view(wave, _WIDTH)[::_STEP]


def _filtered(power: FloatArray, filters: Any) -> FloatArray:
    """Return the power in each band. Few bins lie in a filter, and a sparse product leaves the cores to the workers."""
    return np.asarray((filters @ power.T).T)


def _centred(values: FloatArray) -> Features:
    return np.asarray(values - values.mean(axis=0), np.float32)


@cache
def _sparse(filters: Callable[[], FloatArray]) -> Any:
    return csr_array(filters().T)


def _speechbrain_filters() -> FloatArray:
    """201 bins x 80: triangles around centres in hertz, both slopes from the gap below the centre.

    SpeechBrain has them in single precision, where a centre's rounding moves small weights by 1e-5, and so has this.
    """
    single = np.float32
    top = single(2595.0 * np.log10(1.0 + 8000.0 / 700.0))
    step = top / single(BANDS + 1)
    place = np.arange(BANDS + 2, dtype=np.float32)
    mel = np.where(place < (BANDS + 2) // 2, step * place, top - step * (single(BANDS + 1) - place))
    ratio = np.asarray(10.0 ** np.asarray(mel / single(2595.0), np.float64), np.float32)
    hertz = single(700.0) * (ratio - single(1.0))
    gap, centre = np.diff(hertz)[:-1], hertz[1:-1]
    bins = np.linspace(0.0, 8000.0, _WIDTH // 2 + 1, dtype=np.float32)
    slope = (bins[:, None] - centre) / gap
    filters = np.maximum(single(0.0), np.minimum(slope + single(1.0), single(1.0) - slope))
    return np.asarray(filters, np.float64)


def _kaldi_filters() -> FloatArray:
    """257 bins x 80: triangles on the mel scale, in single precision as Kaldi has them, without the last bin."""
    unit, scale, break_hz = np.float32(1.0), np.float32(1127.0), np.float32(700.0)

    def mel(hertz: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(scale * np.log(unit + hertz / break_hz), np.float32)

    low, high = mel(np.array([20.0, 8000.0], np.float32))
    edges = low + np.arange(BANDS + 2, dtype=np.float32) * ((high - low) / np.float32(BANDS + 1))
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    bins = mel(np.arange(257, dtype=np.float32) * np.float32(RATE / 512))[:, None]
    filters = np.where(bins <= centre, (bins - left) / (centre - left), (right - bins) / (right - centre))
    filters = np.maximum(filters, np.float32(0.0))
    filters[-1] = 0.0
    return np.asarray(filters, np.float64)


CARD = "card.json"  # what a card is called in the folder of an encoder
_WAVE = "wave"
_PREFIX = "zeroevidence/person/"
_LARGEST = {"sample_rate": 768_000, "dim": 1 << 20, "bytes": 1 << 40}
_DIGEST = re.compile(r"[0-9a-f]{64}")
# What the prose of a card must contain, all of it, to mean one of our front ends.
_PROSE = {
    "speechbrain-fbank": (
        "frames of 400 samples every 160",
        "padded by 200 zeros on both ends",
        "periodic Hamming",
        "400-point FFT",
        "80 triangular filters between 0 and 8000 Hz",
        "2595 log10(1 + f/700)",
        "own lower bandwidth",
        "10 log10 with floor 1e-10",
        "80 dB below the utterance maximum",
        "mean over the utterance subtracted",
    ),
    "kaldi-fbank": (
        "Kaldi fbank",
        "frames of 400 every 160 without padding",
        "frame mean removed",
        "pre-emphasis 0.97",
        "Povey",
        "512-point FFT",
        "80 triangular filters between 20 and 8000 Hz",
        "1127 ln(1 + f/700)",
        "floor 1.19e-7",
        "waveform in [-1, 1]",
        "mean over the utterance subtracted",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _CardFields:
    """What a card says of a model, in its file as in a program."""

    sample_rate: int
    dim: int
    front_end: str = ""
    input: str = "input"
    output: str = "output"
    architecture: str = ""
    licence: str = ""
    origin: str = ""
    note: str = ""
    sha256: str | None = None
    bytes: int | None = None
    reference: str | None = None
    training_people: tuple[str, ...] = ()
    development_people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EncoderCard(_CardFields):
    """The description of a model and of its input."""

    name: str
    file: Path


def read_card(path: str | Path, name: str | None = None, *, model: Path | None = None) -> EncoderCard:
    """Return the card in a JSON file, or the one beside an ONNX file that names it.

    Parameters
    ----------
    path
        The card, or the model that a card beside it names.
    name
        Which of several models of a card.
    model
        The model file, where it is another than the card says; of several cards the one that names such a file is
        taken.

    Raises
    ------
    InputError
        Naming the file, and what is missing or not understood in it.

    Examples
    --------
    >>> from zeroevidence.attack.encoders import BUNDLED
    >>> card = read_card(BUNDLED / "campplus" / "card.json")
    >>> card.name, card.dim, card.front_end, card.licence
    ('campplus', 192, 'kaldi-fbank', 'Apache-2.0')
    """
    file = Path(path)
    if file.suffix.lower() == ".onnx":
        return _card_naming(file)
    cards = _cards(file)
    if name is None and model is not None and len(cards) > 1:
        name = next((key for key, content in cards.items() if content.get("file") == model.name), None)
    if name is None and len(cards) > 1:
        names = shortened(", ".join(cards))
        raise InputError(f"{len(cards)} models; expected {file.name}#NAME with one of {names}", path=path)
    chosen = next(iter(cards)) if name is None else name
    if chosen not in cards:
        raise InputError(f"no model {chosen!r}; expected one of {shortened(', '.join(cards))}", path=path)
    return _card(file, chosen, cards[chosen], model)


def card_parts(name: str) -> tuple[str, str | None]:
    """Return the file and, after a #, which of its models; a file may itself have a # in its name."""
    if is_file(name):
        return name, None
    file, _, model = name.partition("#")
    return file, model or None


def card_text(card: EncoderCard, training: Mapping[str, Any] | None = None) -> str:
    """Return a card as its file holds it, without empty fields; settings of its training are for people."""
    names = tuple(name for name in EncoderCard.__dataclass_fields__ if name != "file")
    content = {"name": card.name, "file": card.file.name} | {name: getattr(card, name) for name in names}
    content |= {"training": training}
    return json.dumps({key: value for key, value in content.items() if value}, indent=1, ensure_ascii=False) + "\n"


def person_digest(name: str) -> str:
    """Return the digest of a person that a card holds.

    Examples
    --------
    >>> person_digest("ann")[:12]
    'e52a961b2277'
    """
    return hashlib.sha256(f"{_PREFIX}{name}".encode()).hexdigest()


def training_people(card: EncoderCard) -> frozenset[str]:
    """Return the digests of all people whom an encoder was trained or stopped on; none where its card has none."""
    return frozenset(card.training_people) | frozenset(card.development_people)


def shared_people(card: EncoderCard, speakers: Iterable[str]) -> list[str]:
    """Return those of some speakers whom an encoder was trained or stopped on, in alphabetical order.

    Examples
    --------
    >>> from zeroevidence.attack.encoders import find_encoder
    >>> shared_people(find_encoder("campplus").card, ["ann", "bob"])
    []
    """
    digests = training_people(card)
    return sorted({str(name) for name in speakers if person_digest(str(name)) in digests})


def refuse_shared(card: EncoderCard, speakers: Iterable[str]) -> None:
    """Refuse to evaluate people whom an encoder was trained on.

    Raises
    ------
    InputError
        Naming the encoder's file, one of the people, and how many they are.
    """
    shared = shared_people(card, speakers)
    if shared:
        raise InputError(
            f"{card.name} was trained with {len(shared)} of the evaluated people, among them {shared[0]!r}; expected "
            "an encoder that learned from other people",
            path=card.file,
        )


def _card_naming(model: Path) -> EncoderCard:
    for file in (model.with_suffix(".json"), *sorted(model.parent.glob("*.json"))):
        if file.is_file():
            for name, content in _cards(file).items():
                if content.get("file") == model.name:
                    return _card(file, name, content, None)
    raise InputError("no card beside it names this model; expected a .json with file, dim, front_end", path=model)


def _cards(file: Path) -> dict[str, dict[str, Any]]:
    """Return the cards of a file by name; a single one is an object of plain values."""
    loaded = load_json(file)
    if not isinstance(loaded, dict) or not loaded:
        raise InputError("not a model card; expected an object with file, sample_rate, dim, front_end", path=file)
    if all(isinstance(value, dict) for value in loaded.values()):
        return loaded
    return {str(loaded.get("name") or file_name_text(file.stem)): loaded}


@dataclass(frozen=True, slots=True)
class _CardContent(_CardFields):
    """The fields of a card that programs read, as its file has them, with all checks that need no other file."""

    file: str = ""
    features: str = ""

    def __post_init__(self) -> None:
        for key, largest in _LARGEST.items():
            value = getattr(self, key)
            if value is not None and not 1 <= value <= largest:
                raise UsageError(f"{key} is {value}; expected a whole number from 1 to {largest}")
        if self.known_front_end not in (*FRONT_ENDS, _WAVE):
            reason = f"unknown front end {shortened(self.front_end)!r}" if self.front_end else "features not understood"
            raise UsageError(f"{reason}; expected front_end to be one of {', '.join((*FRONT_ENDS, _WAVE))}")
        if self.known_front_end in FRONT_ENDS and self.sample_rate != RATE:
            raise UsageError(f"sample_rate is {self.sample_rate}; expected {RATE} for {self.known_front_end}")
        if self.sha256 is not None and not _DIGEST.fullmatch(self.sha256.lower()):
            raise UsageError(f"sha256 is {shortened(self.sha256)!r}; expected 64 hexadecimal digits")
        for key in ("training_people", "development_people"):
            if not all(map(_DIGEST.fullmatch, getattr(self, key))):
                raise UsageError(f"{key}: expected a list of texts of 64 hexadecimal digits")
        if Path(self.file).is_absolute() or ".." in Path(self.file).parts:  # a card may come from anybody
            place = "outside the folder of the card; expected one beside it"
            raise UsageError(f"file is {shortened(self.file)!r}, {place}")

    @property
    def known_front_end(self) -> str:
        """The front end by its name, or the one that the prose under `features` describes; empty for others."""
        return self.front_end or _described_front_end(self.features)


def _card(file: Path, name: str, content: dict[str, Any], model: Path | None) -> EncoderCard:
    where = shortened(name)
    with naming_file(file):
        blank = [key for key, value in content.items() if isinstance(value, str) and not value.strip()]
        if blank:
            raise InputError(f"{where}: {blank[0]} is {content[blank[0]]!r}; expected text")
        card = typed(_CardContent, known_fields(_CardContent, content), where)
        place = file.parent / card.file if model is None else model
        if not is_file(place):
            reason = f"no such model file {shortened(place.name)}" if model or card.file else "file is missing"
            raise InputError(f"{where}: {reason}")
    values = {field.name: getattr(card, field.name) for field in fields(card) if field.name != "features"}
    changed = {"front_end": card.known_front_end, "sha256": card.sha256 and card.sha256.lower()}
    first_words = {key: values[key].split()[0] for key in ("input", "output")}
    return EncoderCard(**values | changed | first_words | {"name": name, "file": place})


def _described_front_end(prose: str) -> str:
    """Return the front end that prose describes; empty where it is none of ours."""
    text = " ".join(prose.split())
    return next((name for name, marks in _PROSE.items() if all(mark in text for mark in marks)), "")
