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
    first, *others = findings(rows)
    if first.question == "attribute":
        return attribute_verdict(first, others)
    if first.question == "spoofing":
        return other_verdict(first)
    identity = identity_verdict(first)
    if not others:
        return identity
    attribute = attribute_verdict(others[0], others[1:])
    return replace(identity, others=(*identity.others, f"{attribute.headline}. {attribute.paragraph}"))
