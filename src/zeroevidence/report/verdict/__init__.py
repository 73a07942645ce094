"""The finding in one plain paragraph, for a reader who decides about the data and not about the measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.evaluation import Evaluation, findings
from zeroevidence.report.verdict.attribute import attribute_verdict
from zeroevidence.report.verdict.description import described
from zeroevidence.report.verdict.identity import people_verdict
from zeroevidence.report.verdict.phrases import Verdict

__all__ = ["Verdict", "verdict"]


def verdict(rows: Sequence[Evaluation]) -> Verdict:
    """The finding of all rows together, people before attributes; there must be at least one row."""
    found = findings(rows)
    concealed = [one for one in found if one.question == "attribute"]
    by_attribute = attribute_verdict(rows, concealed[0], concealed[1:]) if concealed else None
    if found[0].question == "attribute" and by_attribute is not None:
        return by_attribute
    if found[0].question == "spoofing":
        return described(rows, found[0])
    people = people_verdict(rows, found[0])
    if by_attribute is None:
        return people
    return replace(people, others=(*people.others, f"{by_attribute.headline}. {by_attribute.paragraph}"))
