"""Cards of speaker encoders: JSON files that describe a model and its input.

A card is a JSON object with `file` (beside the card), `sample_rate`, `dim`, `front_end` (a name of
`features.FRONT_ENDS`, or "wave" for models that take samples), `input` and `output` (names; text after the first
word, such as a shape, is for people). A card file may hold several, by name. A card that describes its front end in
prose, under `features`, is understood where the text is that of an implemented front end.

For people it says `architecture`, `licence`, `origin` and `note`. `sha256` is the digest of the model file and `bytes`
its size, which are then checked whenever the model is loaded. `reference` names the encoder whose embedding of the
check utterance the model must give. `training_people` and `development_people` are digests of the people whom an
encoder learned from and was stopped on (see `encoders.training_speakers`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.attack.speech.front_ends import FRONT_ENDS, RATE
from zeroevidence.data.files.errors import is_file
from zeroevidence.data.files.json_values import is_writable, load_json, shortened, shown
from zeroevidence.data.printable import file_name_text
from zeroevidence.errors import InputError

CARD = "card.json"  # what a card is called in the folder of an encoder
_WAVE = "wave"
_FASTEST, _LONGEST, _LARGEST = 768_000, 1 << 20, 1 << 40  # samples a second, dimensions, bytes of a model
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
    >>> from zeroevidence.attack.extractors.families.campplus import HOME
    >>> card = read_card(HOME / "card.json")
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


def _beside(card: Path, name: str, fields: _Fields) -> Path:
    """Return the file that a card names, which must be in its folder: a card may come from anybody."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise fields.refused(f"file is {shortened(name)!r}, outside the folder of the card; expected a file beside it")
    return card.parent / name


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


def _card(file: Path, name: str, content: dict[str, Any], model: Path | None) -> EncoderCard:
    fields = _Fields(file, name, content)
    front_end = fields.text("front_end", "") or _described_front_end(fields.text("features", ""))
    if front_end not in FRONT_ENDS and front_end != _WAVE:
        names = ", ".join((*FRONT_ENDS, _WAVE))
        reason = f"unknown front end {shortened(front_end)!r}" if front_end else "its features are not understood"
        raise fields.refused(f"{reason}; expected front_end to be one of {names}")
    rate, dim = fields.number("sample_rate", _FASTEST), fields.number("dim", _LONGEST)
    size = fields.number("bytes", _LARGEST) if "bytes" in content else None
    if front_end in FRONT_ENDS and rate != RATE:
        raise fields.refused(f"sample_rate {rate}; expected {RATE} for {front_end}")
    place = _beside(file, fields.text("file"), fields) if model is None else model
    if not is_file(place):
        raise fields.refused(f"no such model file {shortened(place.name)}")
    digest = fields.text("sha256", "").lower()
    if digest and not _DIGEST.fullmatch(digest):
        raise fields.refused(f"sha256 is {shortened(digest)!r}; expected 64 hexadecimal digits")
    return EncoderCard(
        name,
        place,
        rate,
        dim,
        front_end,
        input=fields.text("input", "input").split()[0],
        output=fields.text("output", "output").split()[0],
        **{key: fields.text(key, "") for key in ("architecture", "licence", "origin", "note")},
        sha256=digest or None,
        bytes=size,
        reference=fields.text("reference", "") or None,
        training_people=fields.digests("training_people"),
        development_people=fields.digests("development_people"),
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    """Checked values of a card by key; errors name the file, the model and the key."""

    file: Path
    name: str
    content: dict[str, Any]

    def text(self, key: str, otherwise: str | None = None) -> str:
        value = self.content.get(key)
        if value is None and otherwise is not None:
            return otherwise
        if not isinstance(value, str) or not is_writable(value) or not value.strip():
            raise self.refused(f"{key} is {self._text_of(key)}; expected text")
        return value

    def number(self, key: str, most: int) -> int:
        value = self.content.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise self.refused(f"{key} is {self._text_of(key)}; expected a whole number from 1 to {most}")
        return value

    def digests(self, key: str) -> tuple[str, ...]:
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and _DIGEST.fullmatch(item) for item in value):
            raise self.refused(f"{key}: expected a list of texts of 64 hexadecimal digits")
        return tuple(value)

    def refused(self, reason: str) -> InputError:
        return InputError(f"{shortened(self.name)}: {reason}", path=self.file)

    def _text_of(self, key: str) -> str:
        return shown(self.content[key]) if key in self.content else "missing"


def _described_front_end(prose: str) -> str:
    """Return the front end that prose describes; empty where it is none of ours."""
    text = " ".join(prose.split())
    return next((name for name, marks in _PROSE.items() if all(mark in text for mark in marks)), "")
