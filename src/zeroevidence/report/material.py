"""What a report is made of: results, their attackers' cards, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroevidence.attack.attackers.card import AttackerCard
from zeroevidence.data.door import door, is_file
from zeroevidence.data.typed import load_json, read_json, typed
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Comparison, Evaluation
from zeroevidence.evaluation.jsonfile import from_json, result_text
from zeroevidence.report.comparisons import SCHEMA, comparisons_from_json

if TYPE_CHECKING:
    from zeroevidence.auditing import Audit

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
        if _is_comparison(text, name):
            self.comparisons += comparisons_from_json(text, path=name)
            return
        rows = from_json(text, path=name)
        if not rows:
            raise InputError("has no rows; expected a result", path=name)
        for row, card in zip(rows, _cards(Path(path), len(rows)), strict=True):
            if row not in self.rows:  # audits of the same data have their bounds in common
                self.rows.append(row)
                self.cards.append(card)

    def add_audit(self, audit: Audit) -> None:
        """Add what an audit found; bounds that audits of the same data have in common come once."""
        known = [(row.signature, row.labels) for row in self.rows if row.about.is_bound]
        for row, card in zip(audit.rows, audit.cards, strict=True):
            if not row.about.is_bound or (row.signature, row.labels) not in known:
                self.rows.append(row)
                self.cards.append(card.to_dict())

    def add_rows(self, rows: Sequence[Evaluation]) -> None:
        """Add rows without cards."""
        self.rows += rows
        self.cards += [None] * len(rows)


def _is_comparison(text: str, path: str) -> bool:
    document = read_json(text, path)
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def _cards(place: Path, wanted: int) -> list[Card | None]:
    """The attackers' cards that an audit wrote beside its result."""
    file = place / "attackers.json"
    if not is_file(file):
        return [None] * wanted
    with door(file, "attackers' cards"):
        cards = typed(tuple[AttackerCard, ...], load_json(file), "cards")
    if len(cards) != wanted:
        raise InputError(f"{len(cards)} cards; expected {wanted}, one for each row of result.json", path=file)
    return [card.to_dict() for card in cards]
