"""Results as one self-contained HTML file: the verdict first, then the numbers, figures and methods behind it."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroevidence import __version__
from zeroevidence.data.printable import printable
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.rows.curves import Surface
from zeroevidence.evaluation.rows.flags import Flag, relaxed_flags
from zeroevidence.measure.search.rank import LISTED_RECORDINGS
from zeroevidence.optional import optional
from zeroevidence.plot.canvas import prepare_drawing
from zeroevidence.plot.rows import row_names
from zeroevidence.protect.release import shown_fields
from zeroevidence.report.bibliography import references
from zeroevidence.report.comparisons import comparison_notes, comparison_tables
from zeroevidence.report.evaluations import effort_table, listed_table
from zeroevidence.report.figures import PICTURE, draw_figures
from zeroevidence.report.inputs import Card, ReportInputs, ReportOptions
from zeroevidence.report.layout import common_level, interval_title, label_text, raised_flags
from zeroevidence.report.numbers import REPORT_COLUMNS, describe_methods, headline_number, report_measures, tiles
from zeroevidence.report.people import RECORDINGS_NOTE, people_table, recordings_table, untried_numbers
from zeroevidence.report.table import Table, names_column
from zeroevidence.report.utility import utility_lines, utility_notes, utility_table
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.others import comparison_verdict
from zeroevidence.report.verdict.phrases import curve_sentence, system_text
from zeroevidence.report.verdict.summary import NEXT_COMMANDS

if TYPE_CHECKING:
    from jinja2 import Environment


def hidden(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The same rows with people as numbers, one number for one person in all rows, the most exposed first."""
    numbers: dict[str, str] = {}
    for row in rows:
        names = list(row.people.speaker) if row.people is not None else []
        for surface in row.surfaces.values():
            names += [name for name in (*surface.x, *surface.y) if isinstance(name, str)]
        for name in names:
            numbers.setdefault(name, f"person {len(numbers) + 1}")

    def number(names: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(numbers.get(name, name) for name in names)

    return [
        replace(
            row,
            flags=_without_names(row),
            trials=None,
            people=None if row.people is None else replace(row.people, speaker=number(row.people.speaker)),
            surfaces={name: Surface(number(each.x), number(each.y), each.z) for name, each in row.surfaces.items()},
            maps={name: replace(points, label=number(points.label)) for name, points in row.maps.items()},
        )
        for row in rows
    ]


def _without_names(row: Evaluation) -> tuple[Flag, ...]:
    """Return the flags of a row without examples of names."""
    rules = [replace(rule, example=None) for rule in row.setup.relaxed if rule.example is not None]
    nameless = {flag.code: flag for flag in relaxed_flags(rules)}
    return tuple(nameless.get(flag.code, flag) for flag in row.flags)


_TEMPLATES = Path(__file__).parent / "templates"
_TEMPLATE = "report.html"
_USUAL = ReportOptions()
_PACKAGES = ("numpy", "scipy", "scikit-learn", "polars", "matplotlib", "jinja2")
_CARD_FIELDS = ("objective", "opportunity", "resources", "enrolment", "trial", "extractor", "backend")
_ATTACKER_FIELDS = (*_CARD_FIELDS, "trained_on", "calibrated_on")
_PROTECTOR_FIELDS = ("defence", "method", "utility", "opportunity", "resources", "parts", "release")
_CARD_COLUMNS = ("enrolment", "trial", "extractor", "backend", "trained_on", "calibrated_on")


def to_html(inputs: ReportInputs, options: ReportOptions = _USUAL) -> str:
    """Return the HTML page of results, of comparisons of systems, or of both.

    The page loads nothing. Its only script is inlined and named by its hash in the content security policy, so no other
    can run; every string from outside is escaped by the template engine, and data for the script are JSON in which
    ``<`` is written as an escape.

    Parameters
    ----------
    inputs
        Results, the cards of their attackers and protectors, and comparisons.
    options
        How they are shown.
    """
    comparisons = inputs.comparisons
    if not inputs.rows and not comparisons:
        raise UsageError("a report needs at least one result")
    environment = templates()
    rows = hidden(inputs.rows) if options.hide else inputs.rows
    conclusion = verdict(rows) if rows else comparison_verdict(comparisons)
    measures = report_measures(rows, options.measures)
    named = [*measures, *(comparison.measure for comparison in comparisons)]
    script = template_text("report.js")
    signatures = [*(row.signature for row in rows), *(comparison.signature for comparison in comparisons)]
    context = {
        "title": options.title or _title(rows),
        "subtitle": _subtitle(rows),
        "version": __version__,
        "policy": policy(script),
        "css": markup(template_text("report.css")),
        "script": markup(script),
        "verdict": conclusion,
        "n_rows": len(rows),
        "hide": options.hide,
        "card": None if conclusion.finding is None else _card(inputs.cards[conclusion.finding.strongest]),
        "cards": [card for card in inputs.cards if card is not None],
        "card_table": _card_table(rows, inputs.cards),
        "attackers": list(dict.fromkeys(row.labels["attacker"] for row in rows if "attacker" in row.labels)),
        "protectors": [_card(shown_fields(card), _PROTECTOR_FIELDS) for card in inputs.protectors],
        **_results(conclusion.finding, measures, options),
        "comparisons": [comparison_tables(comparison) for comparison in comparisons],
        "comparison_note": " ".join(comparison_notes(comparisons)),
        "methods": list(describe_methods(rows, named)),
        "references": references(named),
        "command": options.command,
        "signatures": list(dict.fromkeys(signatures)),
        "environment": environment_versions(),
    }
    context["sections"] = _sections(context)
    return environment.get_template(_TEMPLATE).render(context).lstrip()


def prepare_page() -> None:
    """Do what every page takes, while the results are still computed: import matplotlib, compile the template."""
    prepare_drawing()
    with suppress(MissingExtra):
        templates().get_template(_TEMPLATE)
    environment_versions()


def _results(finding: Finding | None, measures: Sequence[str], options: ReportOptions) -> dict[str, Any]:
    """The template's variables about the results, of which there are none where a page has comparisons alone."""
    if finding is None:
        parts = ("rows", "people", "recordings", "effort", "utility", "picture", "numbers", "tiles", "figures")
        return dict.fromkeys((*parts, "flags", "flags_of_strongest", "people_left", "shared_labels"), ())
    rows = finding.rows
    numbers = [headline_number(name, finding) for name in measures if name in finding.row.metrics]
    people, people_left = people_table(finding)
    listed, shared_labels = listed_table(finding, measures)
    useful = options.measures if utility_lines(rows, options.measures) else None
    figures = draw_figures(finding, hide=options.hide, each=options.each)
    picture = next((figure for figure in figures if figure.id == f"figure-{PICTURE}"), None)
    return {
        "numbers": numbers,
        "tiles": tiles(finding),
        "columns": [column for column in REPORT_COLUMNS if any(column.title in n["columns"] for n in numbers)],
        "interval_title": interval_title(common_level(rows)),
        "strong": finding.strongest,
        "row_name": row_names(rows)[finding.strongest],
        **{f"has_{part}": any(n[part] for n in numbers) for part in ("bounds", "null", "plain", "noise")},
        "flags": raised_flags(rows),
        "flags_of_strongest": raised_flags([finding.row]),
        "people": people,
        "people_left": people_left,
        "listed_recordings": LISTED_RECORDINGS,
        "recordings": recordings_table(finding),
        "recordings_note": f"{RECORDINGS_NOTE} {untried_numbers(rows)}".strip(),
        "effort": effort_table(rows, finding.further),
        "utility": utility_table(rows, useful, numbered=True) if utility_lines(rows) else None,
        "utility_notes": utility_notes(rows),
        "learning_curves": [
            (curve_sentence(curve), list(zip(curve.amount, curve.bits, strict=True))) for curve in finding.curves
        ],
        "rows": listed,
        "shared_labels": shared_labels,
        "figures": [figure for figure in figures if figure is not picture],
        "picture": picture,
    }


def templates(*folders: Path) -> Environment:
    """The template engine, escaping everything; it looks into `folders` first."""
    optional("jinja2", "report", "an HTML page")
    return _engine(folders)


@cache
def _engine(folders: tuple[Path, ...]) -> Environment:
    """One engine for all pages: it keeps the templates that it has compiled."""
    import jinja2

    engine = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, _TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.globals["next_commands"] = NEXT_COMMANDS
    return engine


def _printable(value: object) -> object:
    """The value as a template writes it: text from outside without control characters."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else printable(value)


def template_text(name: str) -> str:
    """A style sheet or script of ours."""
    return (_TEMPLATES / name).read_text(encoding="utf-8").strip()


def policy(script: str) -> str:
    """A content security policy under which only this script runs and nothing is loaded."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def environment_versions() -> tuple[str, ...]:
    """Versions of what computed and drew the report."""
    versions = [f"zeroevidence {__version__}", f"{platform.python_implementation()} {platform.python_version()}"]
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    return tuple(versions)


def markup(text: str) -> str:
    """Text of ours, or made safe by us, that the template must not escape."""
    from markupsafe import Markup

    return Markup(text)


def _title(rows: Sequence[Evaluation]) -> str:
    systems = dict.fromkeys(row.labels.get("system", "") for row in rows if row.about.role == "attack")
    names = [system_text(name) for name in systems if name]
    if not names or len(names) > 4:
        return "How much do these recordings disclose?"
    return f"How much do recordings give away? {', '.join(names)}"


def _subtitle(rows: Sequence[Evaluation]) -> str:
    if not rows:
        return ""
    parts = []
    datasets = list(dict.fromkeys(row.labels["dataset"] for row in rows if row.labels.get("dataset")))
    if datasets:
        parts.append(f"{'data' if len(datasets) == 1 else 'data sets'}: {', '.join(datasets[:6])}")
    parts.append("one result" if len(rows) == 1 else f"{len(rows)} results")
    for name, noun in (("speakers", "speakers"), ("trials", "recordings"), ("identities", "known people")):
        counts = {row.counts[name] for row in rows if name in row.counts}
        if len(counts) == 1:
            parts.append(f"{counts.pop()} {noun}")
    return " · ".join(parts)


def _card(card: Card | None, names: Sequence[str] = _ATTACKER_FIELDS) -> dict[str, Any] | None:
    if card is None:
        return None
    fields = [(name, card[name]) for name in names if card.get(name)]
    return {"name": card.get("name", ""), "fields": [(name.replace("_", " "), value) for name, value in fields]}


def _card_table(rows: Sequence[Evaluation], cards: Sequence[Card | None]) -> Table | None:
    """All attackers side by side, the same one once."""
    positions: dict[tuple[str, ...], list[int]] = {}
    for position, (row, card) in enumerate(zip(rows, cards, strict=False), 1):
        if card is not None:
            texts = (label_text(row, "attacker"), *(str(card.get(column, "")) for column in _CARD_COLUMNS))
            positions.setdefault(texts, []).append(position)
    if not positions:
        return None
    columns = ("attacker", *(name.replace("_", " ") for name in _CARD_COLUMNS), "rows")
    lines = tuple((*texts, ", ".join(map(str, numbers))) for texts, numbers in positions.items())
    return Table(tuple(map(names_column, columns)), lines)


def _sections(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = (
        ("verdict", "Verdict", True),
        ("attackers", "Who attacks", context["cards"] or context["attackers"]),
        ("numbers", "Numbers", context["numbers"]),
        ("warnings", "Keep in mind", context["rows"]),
        ("utility", "Utility", context["utility"]),
        ("strength", "Training effort", context["effort"]),
        ("recordings", "Several recordings", context["recordings"]),
        ("people", "People at risk", context["people"]),
        ("differences", "Differences", context["comparisons"]),
        ("rows", "All results", context["rows"]),
        ("figures", "Figures", context["figures"]),
        ("methods", "Methods", True),
        ("reproduce", "Reproduce", True),
    )
    return [(anchor, title) for anchor, title, present in names if present]


def audit_html(rows: Sequence[Evaluation]) -> str:
    """Return headline, summary and picture as HTML that needs no style sheet."""
    from zeroevidence.plot import KINDS
    from zeroevidence.plot.figures import to_svg

    conclusion, picture = verdict(rows), ""
    headline, summary = (escape(printable(text)) for text in (conclusion.headline, " ".join(conclusion.summary)))
    if KINDS["attackers"].of(rows):
        with suppress(MissingExtra):
            picture = to_svg("attackers", rows)
    return f"<div><strong>{headline}</strong><p>{summary}</p>{picture}</div>"
