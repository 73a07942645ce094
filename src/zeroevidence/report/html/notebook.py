"""An audit in a notebook: the verdict, and the picture beside it where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from zeroevidence.data.printable import printable
from zeroevidence.errors import MissingExtra
from zeroevidence.evaluation import Evaluation
from zeroevidence.report.verdict import verdict


def audit_html(rows: Sequence[Evaluation]) -> str:
    """Return headline, summary and picture as HTML that needs no style sheet."""
    conclusion = verdict(rows)
    headline, summary = (escape(printable(text)) for text in (conclusion.headline, " ".join(conclusion.summary)))
    return f"<div><strong>{headline}</strong><p>{summary}</p>{_picture(rows)}</div>"


def _picture(rows: Sequence[Evaluation]) -> str:
    from zeroevidence.plot import KINDS
    from zeroevidence.plot.figures import to_svg

    if not KINDS["attackers"].of(rows):
        return ""
    try:
        return to_svg("attackers", rows)
    except MissingExtra:
        return ""
