"""Checks of encoders by their embedding of a bundled, synthetic utterance.

The `reference` of a card names the encoder whose embedding is expected. Encoders without one are checked for the shape
of the embedding, for finite numbers, and for the same embedding in a second run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeroevidence.attack.encoders.inventory import find_encoder, inventory
from zeroevidence.attack.extractors.extractor import Vectors
from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.attack.onnx_models.runtime import OnnxExtractor
from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.files.json_values import load_json, shortened
from zeroevidence.data.speech.audio import load_audio
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError, Problem

_HOME = Path(__file__).parent / "check"
UTTERANCE = _HOME / "utterance.flac"
EMBEDDINGS = _HOME / "embeddings.json"
ALIKE = 0.9999  # cosine above which an embedding is the expected one: other processors and runtimes round otherwise


@dataclass(frozen=True, slots=True)
class EncoderCheck:
    """The cosine to the expected embedding, where there is one, and the problem, if any."""

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
        return [_check(find_encoder(name).card) for name in names]
    installed = inventory()
    broken = [EncoderCheck(Path(problem.path).parent.name, None, problem) for problem in installed.problems]
    return [_check(encoder.card) for encoder in installed.encoders] + broken


def examine(model: OnnxExtractor) -> float | None:
    """Return the cosine of a model's embedding of the check utterance to the reference of its card.

    Raises
    ------
    InputError
        Naming the model's file, when shapes are not as its card says, numbers are not finite, a second run differs, or
        the embedding is not the expected one.
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
    x, y = np.asarray(vector, np.float64), np.asarray(expected, np.float64)
    cosine = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    if not cosine > ALIKE:
        raise InputError(
            f"its embedding of the check utterance has cosine {cosine:.4f} to that of {model.card.reference}; "
            f"expected more than {ALIKE}",
            path=model.card.file,
        )
    return cosine


def check_wave(rate: int) -> Wave:
    """Return the check utterance."""
    return load_audio(UTTERANCE, rate)


def reference(name: str) -> Vectors:
    """Return the embedding of the check utterance by an encoder.

    Raises
    ------
    InputError
        When there is none of that name.

    Examples
    --------
    >>> reference("campplus").shape
    (192,)
    """
    embeddings = load_json(EMBEDDINGS)
    if name not in embeddings:
        raise InputError(f"no reference {shortened(name)!r}; expected one of {', '.join(embeddings)}")
    return np.array(embeddings[name], np.float32)


def _check(card: EncoderCard) -> EncoderCheck:
    try:
        return EncoderCheck(card.name, examine(OnnxExtractor(card)), None)
    except InputError as error:
        return EncoderCheck(card.name, None, error.problem)
