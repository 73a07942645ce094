"""Speaker encoders that are installed: those there are, one more, and whether each still gives its embeddings."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from zeroevidence.attack.extractors import EXTRACTORS, Vectors
from zeroevidence.attack.onnx_cards import BANDS, CARD, EncoderCard, card_parts, card_text, read_card
from zeroevidence.attack.onnx_runtime import OnnxExtractor, open_model
from zeroevidence.data.audio import load_audio
from zeroevidence.data.files import is_file, naming_file, unreadable_reason
from zeroevidence.data.json_values import load_json, shortened
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, Problem, UsageError
from zeroevidence.registry import Registry

Source = Literal["bundled", "added"]
BUNDLED = Path(__file__).resolve().parent / "bundled"
HOME_VARIABLE = "ZEROEVIDENCE_HOME"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder that has a name: its card, and whether it was bundled or added."""

    card: EncoderCard
    source: Source

    @property
    def name(self) -> str:
        """The name that `load_extractor` takes."""
        return self.card.name


@dataclass(frozen=True, slots=True)
class Inventory:
    """The encoders that can be used, and the problems of the others."""

    encoders: tuple[Encoder, ...]
    problems: tuple[Problem, ...]


def inventory() -> Inventory:
    """Return the installed encoders; no model is loaded.

    Examples
    --------
    >>> first = inventory().encoders[0]
    >>> first.name, first.source, first.card.dim
    ('campplus', 'bundled', 192)
    """
    encoders: list[Encoder] = []
    problems: list[Problem] = []
    folders: dict[Source, Path] = {"bundled": BUNDLED, "added": added_folder()}
    for source, folder in folders.items():
        for card in sorted(folder.glob(f"*/{CARD}")):
            if not is_encoder_name(card.parent.name):
                continue
            try:
                encoders.append(Encoder(replace(read_card(card), name=card.parent.name), source))
            except InputError as error:
                problems.append(error.problem)
    return Inventory(tuple(encoders), tuple(problems))


def find_encoder(name: str) -> Encoder:
    """Return the encoder of a name.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.

    Examples
    --------
    >>> find_encoder("campplus").card.licence
    'Apache-2.0'
    """
    installed = inventory()
    for encoder in installed.encoders:
        if encoder.name == name.lower():
            return encoder
    broken = [problem for problem in installed.problems if Path(problem.path).parent.name == name.lower()]
    if broken:
        raise InputError.of(broken, lister="zeroevidence models")
    names = ", ".join(encoder.name for encoder in installed.encoders)
    raise InputError(f"no such encoder; expected one of {names}", path=name)


def find_card(name: str) -> EncoderCard:
    """Return the card of an encoder by its name, or in a file: a card, or an ONNX model with one beside it.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.
    """
    file, chosen = card_parts(name)
    installed = any(encoder.name == str(name).lower() for encoder in inventory().encoders)
    return find_encoder(name).card if installed or not is_file(file) else read_card(file, chosen)


def added_folder() -> Path:
    """Return the folder of added encoders, which need not exist.

    ``$ZEROEVIDENCE_HOME/encoders`` where that variable is set, else where the system keeps data of its users.

    Examples
    --------
    >>> import os
    >>> os.environ["ZEROEVIDENCE_HOME"] = "/data/voices"
    >>> added_folder().as_posix()
    '/data/voices/encoders'
    >>> del os.environ["ZEROEVIDENCE_HOME"]
    """
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else _user_data() / "zeroevidence") / "encoders"


def is_encoder_name(name: str) -> bool:
    """Return whether a name is valid: small letters, digits, dots, dashes; no path to another folder.

    Examples
    --------
    >>> is_encoder_name("ecapa-2.0"), is_encoder_name("../ecapa"), is_encoder_name("ECAPA")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def added_card(name: str) -> Path | None:
    """Return the card of an added encoder, or None where there is none of that name."""
    card = added_folder() / name.lower() / CARD
    return card if is_encoder_name(name.lower()) and card.is_file() else None


def _user_data() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home has added nothing; adding fails with a message
        home = Path(os.sep)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")


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


# Published encoders that can be added without a card, whoever exported the file: it is recognised by the inputs and
# outputs of its graph, and by its embedding of the check utterance. None is fetched.
PUBLISHED_ENCODERS: Registry[EncoderCard] = Registry("published encoder")
PUBLISHED_ENCODERS.add(
    EncoderCard(
        "ecapa",
        Path(),
        sample_rate=16_000,
        dim=192,
        front_end="speechbrain-fbank",
        input="",
        output="",
        architecture="ECAPA-TDNN (VoxCeleb 1 and 2)",
        licence="Apache-2.0",
        origin="SpeechBrain, speechbrain/spkrec-ecapa-voxceleb",
        reference="ecapa",
    )
)


def add_encoder(
    file: str | Path,
    *,
    card: str | Path | None = None,
    published: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> Encoder:
    """Copy an ONNX encoder into the user's folder, where `load_extractor` finds it by its name.

    Parameters
    ----------
    file
        The model; a card beside it names it, or this is the card (``cards.json#model`` for one of several).
    card
        The card, where it lies elsewhere.
    published
        The name of a published encoder in `PUBLISHED_ENCODERS` instead of a card.
    name
        Its name; by default the card's.
    overwrite
        Replace an added encoder of that name.

    Raises
    ------
    InputError
        Naming the file, when model and card do not fit, digest or size are not the card's, the weights lie in other
        files, or the embedding of the check utterance is not what it should be.
    UsageError
        When the name is taken, or is not a valid name.
    MissingExtra
        When what runs encoders or reads audio is not installed.

    Examples
    --------
    >>> add_encoder(find_encoder("campplus").card.file)
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: 'campplus' is an extractor already; expected another name
    """
    source = _find_card(str(file), card, published)
    if name is None and not is_encoder_name(source.name):
        raise UsageError(f"{file}: its name {source.name!r} cannot name an encoder; expected another, with --as")
    chosen = name or source.name
    if not is_encoder_name(chosen):
        raise UsageError(f"{chosen!r} cannot name an encoder; expected small letters, digits, dots and dashes")
    existing = added_card(chosen)
    if existing is None and any(family.takes(chosen) for family in EXTRACTORS.values() if not family.files):
        raise UsageError(f"{chosen!r} is an extractor already; expected another name")
    if existing is not None and not overwrite:
        raise UsageError(f"{chosen!r} was added already, in {existing.parent}; --overwrite replaces it")
    source = replace(source, name=chosen)
    encoder = OnnxExtractor(source)
    if encoder.model.external:
        names = ", ".join(path.name for path in encoder.model.external)
        reason = f"its weights are in other files ({names}); expected one file that holds all"
        raise InputError(reason, path=source.file)
    examine(encoder)
    return Encoder(_store(replace(source, sha256=encoder.model.sha256, bytes=source.file.stat().st_size)), "added")


def published_card(name: str, file: Path) -> EncoderCard:
    """Return a card for the file of a published encoder, with the names that its graph has.

    Raises
    ------
    InputError
        Naming the file, when inputs or outputs of its graph are not those of that encoder.
    """
    encoder = PUBLISHED_ENCODERS.find(name.lower())
    reason = unreadable_reason(file)
    if reason:
        raise InputError(reason, path=file)
    model = open_model(file)
    inputs, outputs = model.session.get_inputs(), model.session.get_outputs()
    ends = (
        ("inputs", inputs, (None, None, BANDS), f"utterances x frames x {BANDS}"),
        ("outputs", outputs, (None, encoder.dim), f"utterances x {encoder.dim}"),
    )
    for title, nodes, shape, text in ends:
        if len(nodes) != 1 or not _fits(nodes[0].shape, shape):
            listing = ", ".join(f"{node.name} {node.shape}" for node in nodes) or "none"
            raise InputError(f"has {title} {listing}; expected one of {text}, as {encoder.name} has it", path=file)
    return replace(encoder, file=file, input=inputs[0].name, output=outputs[0].name, sha256=model.sha256)


def _fits(shape: list[Any], expected: tuple[int | None, ...]) -> bool:
    """Return whether a shape can be the expected one; a graph need not name the length of each dimension."""
    return len(shape) == len(expected) and all(
        size == length or length is None or not isinstance(size, int)
        for size, length in zip(shape, expected, strict=True)
    )


def _find_card(file: str, card: str | Path | None, published: str | None) -> EncoderCard:
    if published is not None:
        if card is not None:
            raise UsageError(f"{published}: a published encoder has a card already; expected either its name or a card")
        return published_card(published, Path(file))
    path, chosen = card_parts(file)
    reason = unreadable_reason(path)
    if reason:
        raise InputError(reason, path=path)
    if card is None:
        return read_card(path, chosen)
    return read_card(*card_parts(str(card)), model=Path(file))


def _store(card: EncoderCard) -> EncoderCard:
    """Copy model and card into a folder of their own, completely or not at all."""
    folder = added_folder()
    home = folder / card.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".adding-", dir=folder) as part:
            fresh, old = Path(part) / "fresh", Path(part) / "old"
            fresh.mkdir()
            copy = replace(card, file=Path(shutil.copyfile(card.file, fresh / f"{card.name}.onnx")))
            if hashlib.sha256(copy.file.read_bytes()).hexdigest() != card.sha256:
                raise InputError("changed while it was copied", path=card.file)
            (fresh / CARD).write_text(card_text(copy), encoding="utf-8")
            if home.exists():
                home.rename(old)
            try:
                fresh.rename(home)
            except OSError:
                if old.exists():
                    old.rename(home)
                raise
    except OSError as error:
        raise InputError(f"encoders cannot be stored there: {error.strerror}", path=folder) from None
    return find_encoder(card.name).card
