"""What a report is made of: finished results read again, and score files evaluated first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zeroevidence.data.formats import Loaded
from zeroevidence.data.formats.linked import result_text
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Evaluation, Options, add_similarity, cross_flags, evaluate
from zeroevidence.evaluation.comparison import Comparison
from zeroevidence.report.comparisons import SCHEMA, comparisons_from_json
from zeroevidence.report.jsonfile import from_json
from zeroevidence.uncertainty.draws import Progress

Card = Mapping[str, Any]


@dataclass(slots=True)
class Material:
    """Rows, for each its attacker's card where there is one, and comparisons."""

    rows: list[Evaluation] = field(default_factory=list)
    cards: list[Card | None] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    def add_result(self, path: str) -> None:
        """Read a finished result: a JSON file, or a folder that `link` or `audit` wrote."""
        name, text = result_text(path)
        if _schema(text) == SCHEMA:
            self.comparisons += comparisons_from_json(text, path=name)
            return
        rows = from_json(text, path=name)
        if not rows:
            raise InputError("has no rows; expected a result", path=name)
        for row, card in zip(rows, _cards(Path(path), len(rows)), strict=True):
            if row not in self.rows:  # audits of the same data have their bounds in common
                self.rows.append(row)
                self.cards.append(card)

    def add_rows(self, rows: Sequence[Evaluation]) -> None:
        """Add rows without cards."""
        self.rows += rows
        self.cards += [None] * len(rows)


def evaluate_files(
    read: Callable[[int], tuple[Loaded, Loaded | None]],
    labels: Sequence[Mapping[str, str]],
    options: Options,
    *,
    workers: int = 1,
    progress: Callable[[int], Progress | None] = lambda _: None,
) -> list[Evaluation]:
    """Evaluate one file after the other; `read` gives a file's scores and those of its development set."""

    def evaluated(index: int) -> tuple[Evaluation, Scores]:
        loaded, dev = read(index)
        result = evaluate(
            loaded.data,
            dev=None if dev is None else dev.data,
            labels=labels[index],
            options=options,
            notes=loaded.loosened,
            workers=workers,
            progress=progress(index),
        )
        return result, loaded.data.to_scores() if isinstance(loaded.data, ScoreMatrix) else loaded.data

    return cross_flags(add_similarity([evaluated(index) for index in range(len(labels))]))


def _schema(text: str) -> str | None:
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    found = document.get("schema") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None


def _cards(place: Path, wanted: int) -> list[Card | None]:
    """The attackers' cards that an audit wrote beside its result."""
    file = place / "attackers.json"
    if not place.is_dir() or not file.is_file():
        return [None] * wanted
    try:
        cards = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", path=file) from None
    if not isinstance(cards, list) or len(cards) != wanted or not all(isinstance(card, dict) for card in cards):
        raise InputError(f"expected {wanted} attacker cards, one for each row of result.json", path=file)
    return cards
