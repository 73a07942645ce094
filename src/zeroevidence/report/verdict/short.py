"""A result in one sentence, for lists of several."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.attackers.attacker import ATTACKERS
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
        learned = f"names the right one of {row.counts['identities']} people in {percent(measured)} of the recordings"
    else:
        guess, measured = 0.0, (row.number("d_ece") or 0.0) / D_ECE_MAX
        before = None if (evidence := number_or_none(plain, "d_ece")) is None else evidence / D_ECE_MAX
        learned = f"loses {percent(measured)} of the doubt whether two recordings are of one person"
    without = "" if before is None else f", without protection {percent(before)}"
    threat = row.about.threat
    known = threat is not None and threat.name in ATTACKERS
    who = f"Somebody who {ATTACKERS[threat.name].title}" if known and threat is not None else "The attacker"
    return unbroken(f"{who} {learned} (guessing {percent(guess)}{without}).")
