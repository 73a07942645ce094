"""Speaker encoders as ONNX files: the bundled one, those that were added, and any file with its card."""

from __future__ import annotations

from zeroevidence.attack.encoders.inventory import added_card, find_encoder
from zeroevidence.attack.extractors.extractor import DEFAULT_EXTRACTOR, EXTRACTORS, ExtractorFamily
from zeroevidence.attack.onnx_models.cards import card_parts, read_card
from zeroevidence.attack.onnx_models.runtime import EXTRA, OnnxExtractor
from zeroevidence.data.files.errors import is_file


def load_installed(name: str, /, *, threads: int) -> OnnxExtractor:
    """Load the bundled encoder, or one that was added, by its name."""
    return OnnxExtractor(find_encoder(name).card, threads=threads)


def load_file(name: str, /, *, threads: int) -> OnnxExtractor:
    """Load the encoder of a card (``cards.json``, ``cards.json#model``) or of an ONNX file with a card beside it."""
    return OnnxExtractor(read_card(*card_parts(name)), threads=threads)


EXTRACTORS.add(
    ExtractorFamily(
        DEFAULT_EXTRACTOR,
        "CAM++ for Chinese and English, which comes with the package",
        forms=(DEFAULT_EXTRACTOR,),
        extra=EXTRA,
        takes=lambda name: name.lower() == DEFAULT_EXTRACTOR,
        load=load_installed,
    )
)
EXTRACTORS.add(
    ExtractorFamily(
        "added",
        "Encoders that were added with `zeroevidence models add`",
        forms=("the name of an added encoder",),
        extra=EXTRA,
        takes=lambda name: added_card(name) is not None,
        load=load_installed,
    )
)
EXTRACTORS.add(
    ExtractorFamily(
        "onnx",
        "Any speaker encoder as an ONNX file, with a model card",
        forms=("a model card (.json)", "an ONNX model with one beside it"),
        extra=EXTRA,
        takes=lambda name: is_file(card_parts(name)[0]),
        files=True,
        load=load_file,
    )
)
