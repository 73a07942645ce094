"""Encoders that were added by ``zeroevidence models add``, by their names."""

from __future__ import annotations

from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily
from zeroevidence.attack.onnx_models.folders import added_card, read_named_card
from zeroevidence.attack.onnx_models.runtime import EXTRA, OnnxExtractor
from zeroevidence.errors import InputError


def load_added(name: str, /, *, threads: int) -> OnnxExtractor:
    """Load an added encoder."""
    card = added_card(name)
    if card is None:
        raise InputError("no such encoder was added", path=name)
    return OnnxExtractor(read_named_card(card), threads=threads)


EXTRACTORS.add(
    ExtractorFamily(
        "added",
        "Encoders that were added with `zeroevidence models add`",
        forms=("the name of an added encoder",),
        extra=EXTRA,
        takes=lambda name: added_card(name) is not None,
        load=load_added,
    )
)
