"""The speaker encoder that comes with the package: CAM++, trained on Chinese and English speech."""

from __future__ import annotations

from pathlib import Path

from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily
from zeroevidence.attack.onnx_models.cards import CARD
from zeroevidence.attack.onnx_models.folders import BUNDLED, read_named_card
from zeroevidence.attack.onnx_models.runtime import EXTRA, OnnxExtractor

NAME = "campplus"
HOME: Path = BUNDLED / NAME


def load_campplus(_name: str, /, *, threads: int) -> OnnxExtractor:
    """Load the only encoder of this family."""
    return OnnxExtractor(read_named_card(HOME / CARD), threads=threads)


EXTRACTORS.add(
    ExtractorFamily(
        NAME,
        "CAM++ for Chinese and English, which comes with the package",
        forms=(NAME,),
        extra=EXTRA,
        takes=lambda name: name.lower() == NAME,
        load=load_campplus,
    )
)
