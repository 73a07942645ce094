"""Taking in further encoders: file and card are checked, then copied into the user's folder."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from zeroevidence.attack.encoders.checking import examine
from zeroevidence.attack.encoders.inventory import Encoder
from zeroevidence.attack.encoders.published import published_card
from zeroevidence.attack.extractors.extractor import EXTRACTORS
from zeroevidence.attack.onnx_models.cards import CARD, EncoderCard, card_parts, card_text, read_card
from zeroevidence.attack.onnx_models.folders import added_card, added_home, is_encoder_name, shelved
from zeroevidence.attack.onnx_models.runtime import OnnxExtractor
from zeroevidence.data.files.errors import is_file
from zeroevidence.errors import InputError, UsageError


def add_encoder(
    file: str | Path,
    *,
    card: str | Path | None = None,
    known: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> Encoder:
    """Take an ONNX encoder into the user's folder, where `load_extractor` finds it by its name.

    Parameters
    ----------
    file
        The model; a card beside it names it, or this is the card (``cards.json#model`` for one of several).
    card
        The card, where it lies elsewhere.
    known
        The name of a published encoder in `PUBLISHED_ENCODERS` instead of a card.
    name
        What it will be called; the card's name unless given.
    overwrite
        Replace an added encoder of that name.

    Raises
    ------
    InputError
        Naming the file, when model and card do not fit, digest or size are not the card's, the weights lie in other
        files, or the embedding of the check utterance is not what it should be.
    UsageError
        When the name is taken, or cannot be one.
    MissingExtra
        When what runs encoders or reads audio is not installed.

    Examples
    --------
    >>> from zeroevidence.attack.extractors.families.campplus import HOME
    >>> add_encoder(HOME / "campplus_zh_en.onnx")
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: 'campplus' is an extractor already; expected another name
    """
    meant = _meant(str(file), card, known)
    called = _free_name(name or meant.name, overwrite)
    model = OnnxExtractor(replace(meant, name=called))
    if model.model.external:
        there = ", ".join(one.name for one in model.model.external)
        raise InputError(f"its weights are in other files ({there}); expected one file that holds all", path=meant.file)
    examine(model)
    return Encoder(
        _stored(replace(meant, name=called, sha256=model.model.sha256, bytes=meant.file.stat().st_size)), "added"
    )


def _meant(file: str, card: str | Path | None, known: str | None) -> EncoderCard:
    if known is not None:
        if card is not None:
            raise UsageError(f"{known}: a published encoder has a card already; expected either its name or a card")
        return published_card(known, Path(file))
    path, chosen = card_parts(file)
    if not is_file(path):
        raise InputError("no such file", path=path)
    if card is None:
        return read_card(path, chosen)
    return read_card(*card_parts(str(card)), model=Path(file))


def _free_name(name: str, overwrite: bool) -> str:
    if not is_encoder_name(name):
        raise UsageError(f"{name!r} cannot name an encoder; expected small letters, digits, dots and dashes")
    there = added_card(name)
    if there is None and any(family.takes(name) for family in EXTRACTORS.values() if not family.files):
        raise UsageError(f"{name!r} is an extractor already; expected another name")
    if there is not None and not overwrite:
        raise UsageError(f"{name!r} was added already, in {there.parent}; --overwrite replaces it")
    return name


def _stored(card: EncoderCard) -> EncoderCard:
    """Copy model and card into a folder of their own; it is there whole or not at all."""
    shelf = added_home()
    home = shelf / card.name
    try:
        shelf.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".adding-", dir=shelf) as part:
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
        raise InputError(f"encoders cannot be kept there: {error.strerror}", path=shelf) from None
    return shelved(home / CARD)
