"""Names of the arrays and columns of embedding files, and embeddings of a table."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import polars as pl

VECTORS = ("vectors", "embeddings", "embedding", "x")
IDS = ("utterance", "ids", "id", "utterance_id", "utt", "utterances")
SPEAKERS = ("speaker", "speakers", "speaker_id", "spk")


def pop_named(values: MutableMapping[str, Any], names: tuple[str, ...]) -> Any:
    """Take out the value with the first of these names that is there; None where none is."""
    return next((values.pop(name) for name in names if name in values), None)


def text_column(frame: pl.DataFrame, name: str | None) -> Any:
    """Return a column as an array of text; None where there is no such column."""
    return None if name is None else frame[name].cast(pl.String).to_numpy()
