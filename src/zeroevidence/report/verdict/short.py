"""A result in one sentence, for lists of several."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.rows.evaluation import number_or_none
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.verdict.phrases import percent, unbroken


def short_sentence(rows: Sequence[Evaluation], finding: Finding) -> str:
    """Return what the attacker that counts learns, beside guessing and unprotected speech, as it was measured."""
    row = rows[finding.strongest]
    plain = None if finding.control is None else rows[finding.control]
    if row.is_search:
        guess, measured = 1.0 / row.counts["identities"], row.number("top1") or 0.0
        before = number_or_none(plain, "top1")
        learned = f"The right one of {row.counts['identities']} people is named in {percent(measured)} of recordings"
    else:
        guess, measured = 0.0, (row.number("d_ece") or 0.0) / D_ECE_MAX
        before = None if (evidence := number_or_none(plain, "d_ece")) is None else evidence / D_ECE_MAX
        learned = f"The doubt whether two recordings are of one person shrinks by {percent(measured)}"
    without = "" if before is None else f", unprotected {percent(before)}"
    return unbroken(f"{learned}; guessing {percent(guess)}{without}.")
