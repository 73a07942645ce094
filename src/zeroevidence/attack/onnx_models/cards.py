"""Cards of speaker encoders: JSON files that describe a model and its input.

A card is a JSON object with `file` (beside the card), `sample_rate`, `dim`, `front_end` (a name of
`features.FRONT_ENDS`, or "wave" for models that take samples), `input` and `output` (names; text after the first
word, such as a shape, is for people). A card file may hold several, by name. A card that describes its front end in
prose, under `features`, is understood where the text is that of an implemented front end.

For people it says `architecture`, `licence`, `origin` and `note`. `sha256` is the digest of the model file and `bytes`
its size, which are then checked whenever the model is loaded. `reference` names the encoder whose embedding of the
check utterance the model must give. `training_people` and `development_people` are digests of the people whom an
encoder was trained and stopped on: the sha256 of a fixed prefix and the speaker's name. They must not be evaluated with
it. A digest does not hide a name that can be guessed, so a card is as confidential as a list of the names.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from zeroevidence.attack.speech.front_ends import FRONT_ENDS, RATE
from zeroevidence.data.files.errors import is_file, naming_file
from zeroevidence.data.files.json_values import known_fields, load_json, shortened, typed
from zeroevidence.data.printable import file_name_text
from zeroevidence.errors import InputError, UsageError

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


@dataclass(frozen=True, slots=True)
class EncoderCard:
    """The description of a model and of its input."""

    name: str
    file: Path
    sample_rate: int
    dim: int
    front_end: str
    input: str
    output: str
    architecture: str = ""
    licence: str = ""
    origin: str = ""
    note: str = ""
    sha256: str | None = None
    bytes: int | None = None
    reference: str | None = None
    training_people: tuple[str, ...] = ()
    development_people: tuple[str, ...] = ()


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
    >>> from zeroevidence.attack.encoders.inventory import BUNDLED
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
        raise InputError(
            f"{len(cards)} models; expected {file.name}#NAME with one of {shortened(', '.join(cards))}", path=path
        )
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


def card_text(card: EncoderCard, **extra: Any) -> str:
    """Return a card as its file holds it, without empty fields; `extra` are further fields, for people."""
    names = tuple(name for name in EncoderCard.__dataclass_fields__ if name != "file")
    content = {"name": card.name, "file": card.file.name} | {name: getattr(card, name) for name in names} | extra
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
    >>> from zeroevidence.attack.encoders.inventory import find_encoder
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
class _CardContent:
    """The fields of a card that programs read, as its file has them, with all checks that need no other file."""

    sample_rate: int
    dim: int
    file: str = ""
    front_end: str = ""
    features: str = ""
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
            raise UsageError(
                f"file is {shortened(self.file)!r}, outside the folder of the card; expected one beside it"
            )

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
