"""Several audits at a glance: two lines for each, and one small table."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.auditing import Audit
from zeroevidence.evaluation.finding.by_knowledge import SystemAttackers, attackers_by_system
from zeroevidence.evaluation.finding.choosing import strongest_row
from zeroevidence.report.layout.formatting import bounds, interval_title, value
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.tables.rendering import render_grids
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.short import short_sentence

_HEADINGS = ("protection", "who only compares", "who trained", "unprotected", "guessing")


def overview_text(audits: Sequence[Audit], following: Sequence[str]) -> str:
    """Return the verdict of each audit in two lines, the shares of right names as a table, and what comes next.

    Parameters
    ----------
    audits
        Audits that are searches through known people.
    following
        Lines at the end: what to run next.
    """
    lead = []
    for audit in audits:
        system = audit.strongest.labels.get("system", "")
        lead += [f"{system}: {verdict(audit.rows).headline}.", short_sentence(audit.rows, audit.finding), " "]
    level = audits[0].strongest.setup.level
    title = f"Recordings that get the right name [%], with {interval_title(level)}"
    grid = Grid(title, _HEADINGS, tuple(map(_line, audits)), 1)
    return render_grids([grid], "text", lead=lead[:-1], notes=following)


def _line(audit: Audit) -> tuple[str, ...]:
    (system, *_), rows = attackers_by_system(audit.rows, audit.finding), audit.rows
    guess = f"{100.0 / rows[system.counting].counts['identities']:.3g}"
    name = rows[system.counting].labels.get("system", "")
    compares, trained = (_best(audit, system, trained=learned) for learned in (False, True))
    return (name, *(_cell(audit, number) for number in (compares, trained, system.control)), guess)


def _best(audit: Audit, system: SystemAttackers, *, trained: bool) -> int | None:
    """The attacker of those who learned from protected speech, or of those who did not."""
    numbers = [
        i
        for i in system.attempts
        if (threat := audit.rows[i].about.threat) is not None and (threat.trained_on == "anonymised") == trained
    ]
    return strongest_row(audit.rows, numbers, audit.finding.chance) if numbers else None


def _cell(audit: Audit, number: int | None) -> str:
    """The share of right names with its interval."""
    if number is None or "top1" not in audit.rows[number].metrics:
        return "–"
    result = audit.rows[number].metrics["top1"]
    interval = bounds(result)
    return f"{value(result)} {interval}" if interval else value(result)
