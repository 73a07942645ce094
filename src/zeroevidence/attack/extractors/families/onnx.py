"""Any speaker encoder as an ONNX file with its card."""

from __future__ import annotations

from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily
from zeroevidence.attack.onnx_models.cards import card_parts, read_card
from zeroevidence.attack.onnx_models.runtime import EXTRA, OnnxExtractor
from zeroevidence.data.files.errors import is_file


def load_onnx(name: str, /, *, threads: int) -> OnnxExtractor:
    """Load the encoder of a card (``cards.json``, ``cards.json#model``) or of an ONNX file with a card beside it."""
    return OnnxExtractor(read_card(*card_parts(name)), threads=threads)


EXTRACTORS.add(
    ExtractorFamily(
        "onnx",
        "Any speaker encoder as an ONNX file, with a model card",
        forms=("a model card (.json)", "an ONNX model with one beside it"),
        extra=EXTRA,
        takes=lambda name: is_file(card_parts(name)[0]),
        files=True,
        load=load_onnx,
    )
)
