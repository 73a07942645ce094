"""The finding in one plain paragraph, for a reader who decides about the data and not about the measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.evaluation import Evaluation, findings
from zeroevidence.report.verdict.identity import identity_verdict
from zeroevidence.report.verdict.others import attribute_verdict, other_verdict
from zeroevidence.report.verdict.phrases import Verdict, unbroken

__all__ = ["Verdict", "verdict"]


def verdict(rows: Sequence[Evaluation]) -> Verdict:
    """Return the verdict on all rows together, people before attributes; there must be at least one row."""
    first, *further = findings(rows)
    if first.question == "spoofing":
        conclusion = other_verdict(first)
    elif first.question == "attribute":
        conclusion = attribute_verdict(first, further)
    else:
        conclusion = identity_verdict(first)
    others = list(conclusion.others)
    if first.question == "identity" and further:
        attribute = attribute_verdict(further[0], further[1:])
        others.append(f"{attribute.headline}. {attribute.summary[0]}")
    return replace(
        conclusion,
        paragraph=unbroken(conclusion.paragraph),
        others=tuple(map(unbroken, others)),
        summary=tuple(map(unbroken, conclusion.summary)),
        assessment=unbroken(conclusion.assessment),
    )
