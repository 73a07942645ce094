"""All inputs of a report as one document: a page, or its tables."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.errors import UsageError
from zeroevidence.forking import Each
from zeroevidence.report.inputs import ReportInputs

DOCUMENT_FORMATS = ("html", "md", "latex")


def assessment_text(inputs: ReportInputs) -> str:
    """Return the finding as one paragraph for a data protection impact assessment.

    Results that are not about who somebody is have no such paragraph; theirs is the conclusion with its reasons.
    """
    from zeroevidence.report.verdict import verdict
    from zeroevidence.report.verdict.others import comparison_verdict

    conclusion = verdict(inputs.rows) if inputs.rows else comparison_verdict(inputs.comparisons)
    reasons = " ".join(conclusion.summary) or conclusion.paragraph
    return f"{conclusion.assessment or f'{conclusion.headline}. {reasons}'}\n".replace("\u00a0", " ")


def document(
    inputs: ReportInputs,
    format: str = "html",
    *,
    title: str | None = None,
    command: str | None = None,
    hide: bool = False,
    measures: Sequence[str] | None = None,
    estimate: bool = False,
    each: Each = map,
) -> str:
    """Return the report in one of `DOCUMENT_FORMATS`.

    Parameters
    ----------
    inputs
        Results, their attackers' cards, and comparisons.
    format
        ``html`` for the page, else the tables alone.
    title
        Heading of the page, as in `to_html`.
    command
        Command line that the page names.
    hide
        Whether people are written as numbers on the page.
    measures
        Names of the measures that its tables show.
    estimate
        Whether the tables show the values corrected for few people; the page always does.
    each
        Applies a function to every figure, as in `to_html`.
    """
    if format == "html":
        from zeroevidence.report.page import to_html

        return to_html(
            inputs.rows,
            title=title,
            cards=inputs.cards,
            protectors=inputs.protectors,
            comparisons=inputs.comparisons,
            command=command,
            hide=hide,
            measures=measures,
            each=each,
        )
    if format not in DOCUMENT_FORMATS:
        raise UsageError(f"unknown format {format!r}; expected one of {', '.join(DOCUMENT_FORMATS)}")
    from zeroevidence.report import render
    from zeroevidence.report.comparisons import render_comparisons

    parts = [render(inputs.rows, format, measures=measures, estimate=estimate)] if inputs.rows else []
    parts += [render_comparisons(inputs.comparisons, format)] if inputs.comparisons else []
    return "\n".join(parts)
