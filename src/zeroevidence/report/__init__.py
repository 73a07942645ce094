"""Evaluations to text, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation

FORMATS = ("text", "json", "md", "latex", "csv")


def render(rows: Sequence[Evaluation], format: str) -> str:
    """All rows in one of the output formats, ending in a newline."""
    return _renderer(format)(rows)


def _renderer(format: str) -> Callable[[Sequence[Evaluation]], str]:
    if format == "text":
        from zeroevidence.report.text import to_text

        return to_text
    if format == "json":
        from zeroevidence.report.jsonfile import to_json

        return to_json
    if format in ("md", "latex", "csv"):
        from zeroevidence.report import tables

        return {"md": tables.to_markdown, "latex": tables.to_latex, "csv": tables.to_csv}[format]
    raise UsageError(f"unknown output format {format!r}; expected one of {', '.join(FORMATS)}")
