"""The inputs of a report: results, their attackers' cards, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroevidence.attack.attackers import AttackerCard
from zeroevidence.data.files import is_file, reading_file
from zeroevidence.data.formats.voiceprivacy_tables import summaries
from zeroevidence.data.json_values import load_json, read_json, typed
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Comparison, Evaluation
from zeroevidence.evaluation.comparable import tell_apart
from zeroevidence.evaluation.finding.chance import with_adjusted
from zeroevidence.evaluation.results import from_json, read_published, result_text
from zeroevidence.protect.release import read_card
from zeroevidence.report.comparisons import SCHEMA, comparisons_from_json
from zeroevidence.run import Each

if TYPE_CHECKING:
    from zeroevidence.auditing import Audit

Card = Mapping[str, Any]
DOCUMENT_FORMATS = ("html", "md", "latex")


@dataclass(slots=True)
class ReportInputs:
    """Rows, for each its attacker's card where there is one, comparisons, and the protectors' cards."""

    rows: list[Evaluation] = field(default_factory=list)
    cards: list[Card | None] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    protectors: list[Card] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cards += [None] * (len(self.rows) - len(self.cards))

    def add_results(self, paths: Sequence[str], names: Sequence[str]) -> None:
        """Read finished results: JSON files, folders that `link` or `audit` wrote, or tables that a kit wrote.

        Where two call different systems alike, these are called by the names of the results.
        """
        for path, rows in zip(paths, tell_apart([self._read(path) for path in paths], names), strict=True):
            cards = iter(_cards(Path(path), sum(row.about.role != "utility" for row in rows)))
            for row in rows:
                card = None if row.about.role == "utility" else next(cards)
                if row not in self.rows:  # audits of the same data have their bounds in common
                    self.rows.append(row)
                    self.cards.append(card)
        self.rows = with_adjusted(self.rows)

    def _read(self, path: str) -> list[Evaluation]:
        """Return the rows of a result; comparisons and the card of a protector are added."""
        if tables := summaries(path):
            return read_published(*tables)
        name, text = result_text(path)
        document = read_json(text, name)
        if isinstance(document, dict) and document.get("schema") == SCHEMA:
            self.comparisons += comparisons_from_json(text, path=name)
            return []
        rows = from_json(text, path=name)
        if not rows:
            raise InputError("has no rows; expected a result", path=name)
        protector = read_card(path)
        self._add_protector(None if protector is None else protector.to_dict())
        return rows

    def add_audit(self, audit: Audit) -> None:
        """Add the results of an audit; bounds that audits of the same data have in common come once."""
        self._add_protector(None if audit.protector is None else audit.protector.to_dict())
        bounds = [(row.signature, row.labels) for row in self.rows if row.about.is_bound]
        for row, card in zip(audit.rows, audit.cards, strict=True):
            if not row.about.is_bound or (row.signature, row.labels) not in bounds:
                self.rows.append(row)
                self.cards.append(card.to_dict())
        self.add_rows(audit.utility)

    def add_rows(self, rows: Sequence[Evaluation]) -> None:
        """Add rows without cards."""
        self.rows = with_adjusted([*self.rows, *rows])
        self.cards += [None] * len(rows)

    def _add_protector(self, card: Card | None) -> None:
        if card is not None and card not in self.protectors:
            self.protectors.append(card)


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How a report shows its inputs.

    Parameters
    ----------
    title
        Heading of the page; made of the systems' names unless given.
    command
        The command line that made the report.
    hide
        Whether the page writes people as numbers; their names are then nowhere in the file.
    measures
        Names of the measures that tables show; the usual ones unless given.
    estimate
        Whether tables alone show the values corrected for few people; the page always does.
    each
        Applies a function to every figure, as `map` does.
    """

    title: str | None = None
    command: str | None = None
    hide: bool = False
    measures: Sequence[str] | None = None
    estimate: bool = False
    each: Each = map


def _cards(folder: Path, count: int) -> list[Card | None]:
    """The attackers' cards that an audit wrote beside its result."""
    file = folder / "attackers.json"
    if not is_file(file):
        return [None] * count
    with reading_file(file, "attackers' cards"):
        cards = typed(tuple[AttackerCard, ...], load_json(file), "cards")
    if len(cards) != count:
        raise InputError(f"{len(cards)} cards; expected {count}, one for each attack of result.json", path=file)
    return [card.to_dict() for card in cards]
