"""The finding in one plain paragraph, for a reader who decides about the data and not about the measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.evaluation import Evaluation, findings
from zeroevidence.report.verdict.identity import identity_verdict
from zeroevidence.report.verdict.others import attribute_verdict, other_verdict
from zeroevidence.report.verdict.phrases import Verdict

__all__ = ["Verdict", "verdict"]


def verdict(rows: Sequence[Evaluation]) -> Verdict:
    """Return the verdict on all rows together, people before attributes; there must be at least one row."""
    all_findings = findings(rows)
    first = all_findings[0]
    concealed = [finding for finding in all_findings if finding.question == "attribute"]
    attribute = attribute_verdict(rows, concealed[0], concealed[1:]) if concealed else None
    if first.question == "attribute" and attribute is not None:
        return attribute
    if first.question == "spoofing":
        return other_verdict(rows, first)
    identity = identity_verdict(rows, first)
    if attribute is None:
        return identity
    return replace(identity, others=(*identity.others, f"{attribute.headline}. {attribute.paragraph}"))
