"""What arrays and columns of embedding files are called."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

VECTORS = ("vectors", "embeddings", "embedding", "x")
IDS = ("utterance", "ids", "id", "utterance_id", "utt", "utterances")
SPEAKERS = ("speaker", "speakers", "speaker_id", "spk")


def pop_named(values: MutableMapping[str, Any], names: tuple[str, ...]) -> Any:
    """Take out what has the first of these names that is there; None where none is."""
    return next((values.pop(name) for name in names if name in values), None)
