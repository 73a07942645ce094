"""All inputs of a report as one document: a page, or its tables."""

from __future__ import annotations

from zeroevidence.errors import UsageError
from zeroevidence.report.inputs import ReportInputs, ReportOptions

DOCUMENT_FORMATS = ("html", "md", "latex")
_USUAL = ReportOptions()


def assessment_text(inputs: ReportInputs) -> str:
    """Return the finding as one paragraph for a data protection impact assessment.

    Results that are not about who somebody is have no such paragraph; theirs is the conclusion with its reasons.
    """
    from zeroevidence.report.verdict import verdict
    from zeroevidence.report.verdict.others import comparison_verdict

    conclusion = verdict(inputs.rows) if inputs.rows else comparison_verdict(inputs.comparisons)
    reasons = " ".join(conclusion.summary) or conclusion.paragraph
    return f"{conclusion.assessment or f'{conclusion.headline}. {reasons}'}\n".replace("\u00a0", " ")


def document(inputs: ReportInputs, format: str = "html", options: ReportOptions = _USUAL) -> str:
    """Return the report in one of `DOCUMENT_FORMATS`: ``html`` for the page, else the tables alone."""
    if format == "html":
        from zeroevidence.report.page import to_html

        return to_html(inputs, options)
    if format not in DOCUMENT_FORMATS:
        raise UsageError(f"unknown format {format!r}; expected one of {', '.join(DOCUMENT_FORMATS)}")
    from zeroevidence.report import render
    from zeroevidence.report.comparisons import render_comparisons

    parts = []
    if inputs.rows:
        parts.append(render(inputs.rows, format, measures=options.measures, estimate=options.estimate))
    if inputs.comparisons:
        parts.append(render_comparisons(inputs.comparisons, format))
    return "\n".join(parts)
