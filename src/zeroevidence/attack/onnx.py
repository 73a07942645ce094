"""Any speaker encoder as an ONNX file, with a small card that says what to feed it.

A card is a JSON object with `file` (beside the card), `sample_rate`, `dim`, `front_end` (a name of
`features.FRONT_ENDS`, or "wave" for models that take samples), `input` and `output` (names; words after the first,
such as a shape, are for people). A card file may hold several, by name. A card that describes its front end in
prose, under `features`, is understood where the words are those of a front end that we have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.features import FRONT_ENDS, RATE
from zeroevidence.errors import InputError, MissingExtra

Wave = NDArray[np.float32]
Vectors = NDArray[np.float32]

_VERSION = "1"  # of the front ends and of how models are fed; raised whenever vectors would change
_WAVE = "wave"
# What the prose of a card must say, all of it, to mean one of our front ends.
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
class Card:
    """What a model is and what it takes."""

    name: str
    file: Path
    sample_rate: int
    dim: int
    front_end: str
    input: str
    output: str


def read_card(path: str | Path, name: str | None = None) -> Card:
    """The card in a JSON file, or the one beside an ONNX file that names it.

    Raises
    ------
    InputError
        Naming the file, and what is missing or not understood in it.
    """
    file = Path(path)
    if file.suffix.lower() == ".onnx":
        return _card_of(file)
    cards = _cards(file)
    if name is None and len(cards) > 1:
        raise InputError(f"{len(cards)} models; expected {file.name}#NAME with one of {', '.join(cards)}", path=path)
    chosen = next(iter(cards)) if name is None else name
    if chosen not in cards:
        raise InputError(f"no model {chosen!r}; expected one of {', '.join(cards)}", path=path)
    return _card(file, chosen, cards[chosen])


def _card_of(model: Path) -> Card:
    for file in (model.with_suffix(".json"), *sorted(model.parent.glob("*.json"))):
        if file.is_file():
            for name, words in _cards(file).items():
                if words.get("file") == model.name:
                    return _card(file, name, words)
    raise InputError("no card beside it names this model; expected a .json with file, dim, front_end", path=model)


def _cards(file: Path) -> dict[str, dict[str, Any]]:
    try:
        loaded = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as a model card: {error}", path=file) from None
    if isinstance(loaded, dict) and isinstance(loaded.get("file"), str):
        return {str(loaded.get("name") or file.stem): loaded}
    if not isinstance(loaded, dict) or not loaded or not all(isinstance(one, dict) for one in loaded.values()):
        raise InputError("not a model card; expected an object with file, sample_rate, dim, front_end", path=file)
    return loaded


def _card(file: Path, name: str, words: dict[str, Any]) -> Card:
    def get(key: str, kind: type, otherwise: Any = None) -> Any:
        value = words.get(key, otherwise)
        if not isinstance(value, kind) or isinstance(value, bool) or not value:
            raise InputError(f"{name}: {key} is {value!r}; expected {'text' if kind is str else 'a number'}", path=file)
        return value

    front_end = words.get("front_end") or _meant(str(words.get("features", "")))
    if front_end not in FRONT_ENDS and front_end != _WAVE:
        known = ", ".join((*FRONT_ENDS, _WAVE))
        what = "its features are not understood" if front_end is None else f"unknown front end {front_end!r}"
        raise InputError(f"{name}: {what}; expected front_end to be one of {known}", path=file)
    rate, dim = get("sample_rate", int), get("dim", int)
    if front_end in FRONT_ENDS and rate != RATE:
        raise InputError(f"{name}: sample_rate {rate}; expected {RATE} for {front_end}", path=file)
    model = file.parent / get("file", str)
    if not model.is_file():
        raise InputError(f"{name}: no such model file {model.name}", path=file)
    ends = (str(get(key, str, key)).split()[0] for key in ("input", "output"))
    return Card(name, model, rate, dim, front_end, *ends)


def _meant(prose: str) -> str | None:
    words = " ".join(prose.split())
    return next((name for name, marks in _PROSE.items() if all(mark in words for mark in marks)), None)


class OnnxExtractor:
    """A speaker encoder run by onnxruntime on the CPU.

    Utterances of the same number of frames are computed together where the model takes batches of any size; nothing is
    ever padded, so a vector does not depend on its neighbours.
    """

    def __init__(self, card: Card, *, threads: int = 1) -> None:
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(str(card.file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime has its own family of errors
            raise InputError(f"cannot be loaded as ONNX: {str(error).splitlines()[0]}", path=card.file) from None
        inputs = {one.name: one for one in self._session.get_inputs()}
        outputs = [one.name for one in self._session.get_outputs()]
        if set(inputs) != {card.input} or card.output not in outputs:
            there = f"inputs {', '.join(inputs)} and outputs {', '.join(outputs)}"
            raise InputError(f"has {there}; its card says {card.input} and {card.output}", path=card.file)
        self.card = card
        self.batched = not isinstance(inputs[card.input].shape[0], int)
        digest = hashlib.sha256(card.file.read_bytes()).hexdigest()
        self.name, self.sample_rate, self.dim = card.name, card.sample_rate, card.dim
        self.fingerprint = f"onnx:{digest}:{card.front_end}:{card.output}:{_VERSION}"

    def features(self, wave: Wave) -> NDArray[np.float32]:
        """What the model sees of a waveform."""
        front_end: Callable[[Wave], NDArray[np.float32]] | None = FRONT_ENDS.get(self.card.front_end)
        return np.asarray(wave, np.float32) if front_end is None else front_end(wave)

    def forward(self, features: NDArray[np.float32]) -> Vectors:
        """The model alone, on features with a leading dimension of utterances."""
        vectors = np.asarray(self._session.run([self.card.output], {self.card.input: features})[0])
        if vectors.shape != (len(features), self.dim):
            expected = f"({len(features)}, {self.dim}) as its card says"
            raise InputError(f"output of shape {vectors.shape}; expected {expected}", path=self.card.file)
        return vectors.astype(np.float32, copy=False)

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """One vector per waveform."""
        result = np.empty((len(waves), self.dim), np.float32)
        seen = [self.features(wave) for wave in waves]
        groups: dict[int, list[int]] = {}
        for at, one in enumerate(seen):
            groups.setdefault(len(one) if self.batched else at, []).append(at)
        for rows in groups.values():
            result[rows] = self.forward(np.stack([seen[at] for at in rows]))
        return result


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("speech", "an ONNX speaker encoder") from None
    return onnxruntime
