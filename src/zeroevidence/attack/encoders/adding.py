"""Adding encoders: file and card are checked, then copied into the user's folder."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from zeroevidence.attack.encoders.checking import examine
from zeroevidence.attack.encoders.inventory import Encoder, added_card, added_folder, find_encoder, is_encoder_name
from zeroevidence.attack.extractors.extractor import EXTRACTORS
from zeroevidence.attack.onnx_models.cards import CARD, EncoderCard, card_parts, card_text, read_card
from zeroevidence.attack.onnx_models.runtime import OnnxExtractor, open_model
from zeroevidence.attack.speech.front_ends import BANDS
from zeroevidence.data.files.errors import unreadable_reason
from zeroevidence.errors import InputError, UsageError
from zeroevidence.registry import Registry

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
    source = replace(source, name=_check_name(name or source.name, overwrite))
    encoder = OnnxExtractor(source)
    if encoder.model.external:
        names = ", ".join(path.name for path in encoder.model.external)
        raise InputError(
            f"its weights are in other files ({names}); expected one file that holds all", path=source.file
        )
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


def _check_name(name: str, overwrite: bool) -> str:
    if not is_encoder_name(name):
        raise UsageError(f"{name!r} cannot name an encoder; expected small letters, digits, dots and dashes")
    existing = added_card(name)
    if existing is None and any(family.takes(name) for family in EXTRACTORS.values() if not family.files):
        raise UsageError(f"{name!r} is an extractor already; expected another name")
    if existing is not None and not overwrite:
        raise UsageError(f"{name!r} was added already, in {existing.parent}; --overwrite replaces it")
    return name


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
