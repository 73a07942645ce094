"""Results as one self-contained HTML file: verdict first, then everything that it rests on.

The page loads nothing. Its only script is inlined and named by its hash in the content security policy, so no other
can run; every string from outside is escaped by the template engine, and data for the script are JSON in which ``<`` is
written as an escape.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroevidence._version import __version__
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.comparison import Comparison
from zeroevidence.plot.words import names_of, printable
from zeroevidence.report import html_content as content
from zeroevidence.report.html_comparison import comparison_tables, comparison_verdict
from zeroevidence.report.html_figures import figures_of, json_of
from zeroevidence.report.html_hide import hidden
from zeroevidence.report.html_methods import methods_of
from zeroevidence.report.html_references import references
from zeroevidence.report.material import Card
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict_rows import attribute_rows, is_bound, people_rows

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "polars", "matplotlib", "jinja2")
_CARD_FIELDS = ("objective", "opportunity", "resources", "enrolment", "trial", "extractor", "backend")
_CARD_COLUMNS = ("enrolment", "trial", "trained_on", "calibrated_on", "backend")


def to_html(
    rows: Sequence[Evaluation],
    *,
    title: str | None = None,
    cards: Sequence[Card | None] = (),
    comparisons: Sequence[Comparison] = (),
    command: str | None = None,
    hide: bool = False,
) -> str:
    """The report of one or several results.

    Parameters
    ----------
    rows
        The results.
    title
        Heading of the page; made of the systems' names unless given.
    cards
        What is known of each row's attacker, one for each row, as `AttackerCard.to_dict` gives it.
    comparisons
        Measures compared between systems.
    command
        The command line that made the report.
    hide
        Write people as numbers; their names are then nowhere in the file.
    """
    if not rows and not comparisons:
        raise UsageError("a report needs at least one result")
    environment = templates()
    if hide:
        rows = hidden(rows)
    finding = verdict(rows) if rows else comparison_verdict(comparisons)
    strong = rows[finding.row] if rows else None
    numbers = [] if strong is None else content.numbers(rows, strong)
    # Beside an attribute that should be concealed, recognising people is what should go on working, and no risk.
    told = [rows[i] for i in people_rows(rows)] if attribute_rows(rows) else rows
    people, people_left = content.people_table(told)
    figures, readoff = figures_of(rows, finding.row, hide=hide) if rows else ([], {})
    measured = [name for name in content.headline_names(rows) if any(name in row.metrics for row in rows)]
    measured += [one.measure for one in comparisons]
    known = [card for card in cards if card is not None]
    card = _card(cards[finding.row]) if rows and len(cards) > finding.row and cards[finding.row] else None
    script = text_of("report.js")
    context = {
        "title": title or _title(rows),
        "subtitle": _subtitle(rows),
        "version": __version__,
        "policy": policy(script),
        "css": _own(text_of("report.css")),
        "script": _own(script),
        "verdict": finding,
        "card": card,
        "cards": known,
        "card_table": _card_table(cards),
        "attackers": list(dict.fromkeys(row.labels["attacker"] for row in rows if "attacker" in row.labels)),
        "numbers": numbers,
        "row_words": "" if strong is None else _words(rows, finding.row),
        "has_bounds": any(one.bounds for one in numbers),
        "has_null": any(one.null for one in numbers),
        "has_plain": any(one.plain for one in numbers),
        "has_noise": any(one.noise for one in numbers),
        "cautions": content.cautions(rows),
        "n_rows": len(rows),
        "people": people,
        "people_left": people_left,
        "hide": hide,
        "comparisons": [comparison_tables(one) for one in comparisons],
        "comparison_note": "Systems of one group are not told apart by these trials; the first discloses least.",
        "rows": content.all_rows(rows, finding.row if len(rows) > 1 else None) if rows else None,
        "shared_words": ", ".join(f"{k}: {v}" for k, v in content.shared_labels(rows).items()) if len(rows) > 1 else "",
        "figures": figures,
        "readoff": _own(_json(json_of(readoff))) if readoff else "",
        "methods": methods_of(rows, measured),
        "references": references(measured),
        "command": command,
        "signatures": list(dict.fromkeys([row.signature for row in rows] + [one.signature for one in comparisons])),
        "environment": environment_words(),
    }
    context["sections"] = _sections(context)
    return environment.get_template("report.html").render(context).lstrip()


def templates(*folders: Path) -> Environment:
    """The template engine, escaping everything; it looks into `folders` first."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtra("report", "an HTML page") from None
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, _TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    """What a template writes: of text from outside no control characters."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else printable(value)


def text_of(name: str) -> str:
    """A style sheet or script of ours."""
    return (_TEMPLATES / name).read_text(encoding="utf-8").strip()


def policy(script: str) -> str:
    """A content security policy under which only this script runs and nothing is loaded."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def environment_words() -> list[str]:
    """Versions of what computed and drew the report."""
    words = [f"zeroevidence {__version__}", f"{platform.python_implementation()} {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            words.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return words


def _own(text: str) -> str:
    """Text of ours, or made safe by us, that the template must not escape."""
    from markupsafe import Markup

    return Markup(text)


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _title(rows: Sequence[Evaluation]) -> str:
    systems = dict.fromkeys(row.labels.get("system", "") for row in rows if not is_bound(row))
    names = [name for name in systems if name]
    if not names or len(names) > 4:
        return "How much do these voices give away?"
    return f"How much do voices give away? {', '.join(names)}"


def _subtitle(rows: Sequence[Evaluation]) -> str:
    if not rows:
        return ""
    parts = []
    datasets = list(dict.fromkeys(row.labels["dataset"] for row in rows if row.labels.get("dataset")))
    if datasets:
        parts.append(f"{'data' if len(datasets) == 1 else 'data sets'}: {', '.join(datasets[:6])}")
    parts.append("one result" if len(rows) == 1 else f"{len(rows)} results")
    for name, words in (("speakers", "speakers"), ("trials", "recordings"), ("identities", "known people")):
        counts = {row.counts[name] for row in rows if name in row.counts}
        if len(counts) == 1:
            parts.append(f"{counts.pop()} {words}")
    return " · ".join(parts)


def _words(rows: Sequence[Evaluation], position: int) -> str:
    return names_of(rows)[position]


def _card(card: Card | None) -> dict[str, Any] | None:
    if card is None:
        return None
    fields = [(name, card[name]) for name in (*_CARD_FIELDS, "trained_on", "calibrated_on") if card.get(name)]
    return {"name": card.get("name", ""), "fields": [(name.replace("_", " "), value) for name, value in fields]}


def _card_table(cards: Sequence[Card | None]) -> content.Table | None:
    """All attackers side by side, the same one once."""
    lines: dict[tuple[str, ...], list[int]] = {}
    for position, card in enumerate(cards, 1):
        if card is not None:
            name = str(card.get("name", "")).partition(" (")[0]
            lines.setdefault((name, *(str(card.get(column, "")) for column in _CARD_COLUMNS)), []).append(position)
    if not lines:
        return None
    body = tuple(
        (*(content.Cell(text) for text in texts), content.Cell(", ".join(map(str, whose))))
        for texts, whose in lines.items()
    )
    headings = ("attacker", *(name.replace("_", " ") for name in _CARD_COLUMNS), "rows")
    return content.Table(tuple((name, "") for name in headings), body, len(headings))


def _sections(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = (
        ("verdict", "Verdict", True),
        ("attackers", "Who attacks", context["cards"] or context["attackers"]),
        ("numbers", "Numbers", context["numbers"]),
        ("warnings", "Keep in mind", context["rows"]),
        ("people", "People at risk", context["people"]),
        ("differences", "Differences", context["comparisons"]),
        ("rows", "All results", context["rows"]),
        ("figures", "Figures", context["figures"]),
        ("methods", "Methods", True),
        ("reproduce", "Reproduce", True),
    )
    return [(anchor, words) for anchor, words, there in names if there]
