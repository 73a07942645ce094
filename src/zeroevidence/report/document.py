"""All that was gathered for a report as one document: a page, or its tables."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.errors import UsageError
from zeroevidence.report.html.figure_processes import Each
from zeroevidence.report.inputs import ReportInputs

DOCUMENT_FORMATS = ("html", "md", "latex")


def document(
    material: ReportInputs,
    format: str = "html",
    *,
    title: str | None = None,
    command: str | None = None,
    hide: bool = False,
    measures: Sequence[str] | None = None,
    each: Each = map,
) -> str:
    """The report in one of `DOCUMENT_FORMATS`.

    Parameters
    ----------
    material
        Results, their attackers' cards, and comparisons.
    format
        ``html`` for the page, else the tables alone.
    title, command, hide
        Of the page, as in `to_html`.
    measures
        Names of the measures that its tables show.
    each
        What applies a function to every figure, as in `to_html`.
    """
    if format == "html":
        from zeroevidence.report.html.page import to_html

        return to_html(
            material.rows,
            title=title,
            cards=material.cards,
            protectors=material.protectors,
            comparisons=material.comparisons,
            command=command,
            hide=hide,
            measures=measures,
            each=each,
        )
    if format not in DOCUMENT_FORMATS:
        raise UsageError(f"unknown format {format!r}; expected one of {', '.join(DOCUMENT_FORMATS)}")
    from zeroevidence.report import render
    from zeroevidence.report.tables.comparisons import render_comparisons

    parts = [render(material.rows, format, measures=measures)] if material.rows else []
    parts += [render_comparisons(material.comparisons, format)] if material.comparisons else []
    return "\n".join(parts)
