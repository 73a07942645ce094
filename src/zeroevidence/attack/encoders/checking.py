"""Whether an encoder works as it should here: its embedding of a bundled utterance.

The utterance is synthetic. Cards name the encoder whose embedding is to come out as their `reference`; encoders without
one are checked for the shape of what they give, for finite numbers, and for giving the same twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeroevidence.attack.encoders.inventory import find_encoder, inventory
from zeroevidence.attack.extractors.extractor import Vectors, Wave
from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.attack.onnx_models.runtime import OnnxExtractor
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.files.json_values import shortened
from zeroevidence.data.speech.audio import load_audio
from zeroevidence.errors import InputError, Problem

_HOME = Path(__file__).parent / "check"
UTTERANCE = _HOME / "utterance.flac"
EMBEDDINGS = _HOME / "embeddings.json"
ALIKE = 0.9999  # cosine above which an embedding is the expected one: other processors and runtimes round otherwise


@dataclass(frozen=True, slots=True)
class EncoderCheck:
    """What came out: the cosine to the expected embedding where there is one, and what is wrong."""

    name: str
    cosine: float | None
    problem: Problem | None


def check_encoders(names: Sequence[str] = ()) -> list[EncoderCheck]:
    """Check encoders by name, or all that are installed.

    Raises
    ------
    InputError
        When there is no encoder of a name.
    MissingExtra
        When what runs encoders or reads audio is not installed.

    Examples
    --------
    >>> check_encoders(["wishful"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    zeroevidence.errors.InputError: wishful: no such encoder; expected one of campplus...
    """
    if names:
        return [_checked(find_encoder(name).card) for name in names]
    there = inventory()
    broken = [EncoderCheck(Path(one.path).parent.name, None, one) for one in there.problems]
    return [_checked(one.card) for one in there.encoders] + broken


def examine(model: OnnxExtractor) -> float | None:
    """The cosine of a model's embedding of the check utterance to the one that its card refers to.

    Raises
    ------
    InputError
        Naming the model's file, when shapes are not as its card says, numbers are not finite, a second run gives
        others, or the embedding is not the expected one.
    """
    wave = check_wave(model.sample_rate)
    vector, again = model.embed([wave])[0], model.embed([wave])[0]
    if not np.isfinite(vector).all():
        raise InputError("its embedding of the check utterance is not finite", path=model.card.file)
    if not np.array_equal(vector, again):
        raise InputError("gives another embedding of the same utterance each time", path=model.card.file)
    if model.card.reference is None:
        return None
    with naming_file(model.card.file):
        expected = reference(model.card.reference)
    if len(expected) != model.dim:
        reason = f"{model.dim} dimensions; expected {len(expected)} of {model.card.reference}"
        raise InputError(reason, path=model.card.file)
    cosine = _cosine(vector, expected)
    if not cosine > ALIKE:
        raise InputError(
            f"its embedding of the check utterance has cosine {cosine:.4f} to that of {model.card.reference}; "
            f"expected more than {ALIKE}",
            path=model.card.file,
        )
    return cosine


def check_wave(rate: int) -> Wave:
    """The check utterance."""
    return load_audio(UTTERANCE, rate)


def reference(name: str) -> Vectors:
    """The embedding that an encoder gives of the check utterance.

    Raises
    ------
    InputError
        When none of that name is known.

    Examples
    --------
    >>> reference("campplus").shape
    (192,)
    """
    known = json.loads(EMBEDDINGS.read_text(encoding="utf-8"))
    if name not in known:
        raise InputError(f"no reference {shortened(name)!r}; expected one of {', '.join(known)}")
    return np.array(known[name], np.float32)


def _cosine(vector: Vectors, other: Vectors) -> float:
    a, b = np.asarray(vector, np.float64), np.asarray(other, np.float64)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def _checked(card: EncoderCard) -> EncoderCheck:
    try:
        return EncoderCheck(card.name, examine(OnnxExtractor(card)), None)
    except InputError as error:
        return EncoderCheck(card.name, None, error.problem)
