"""What to run next where no leak was found: the attackers that were not tried, and how many people are wanted."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.attackers.attacker import usual_attackers
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.verdict.phrases import limited_value

NEXT_COMMANDS = "Next, with your own names of folders:"
_AUDIT = "zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT"


def wanted_people(rows: Sequence[Evaluation], finding: Finding) -> int | None:
    """Return how many people bring the limit half-way to what was measured; None where that is not known."""
    name, most = ("top1", 1.0) if rows[finding.strongest].is_search else ("d_ece", D_ECE_MAX)
    if name not in rows[finding.strongest].metrics:  # of an attribute that is a number
        return None
    return limited_value(rows, finding, name, most).people


def untried_attackers(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Return the usual attackers of whom there is no attempt, by name."""
    tried = {rows[i].about.threat for i in finding.attempts or (finding.strongest,)}
    names = {threat.name for threat in tried if threat is not None}
    return [name for name in usual_attackers() if name not in names]


def trained_encoders(rows: Sequence[Evaluation], finding: Finding) -> bool:
    """Return whether some attempt has a speaker encoder that was trained on protected speech."""
    efforts = [rows[i].about.spent for i in finding.attempts]
    return any(effort is not None and effort.encoder_trained_on == "anonymised" for effort in efforts)


def next_commands(rows: Sequence[Evaluation], finding: Finding) -> tuple[str, ...]:
    """Return the commands that come next where no leak was found: stronger attackers, and a plan for more people."""
    row = rows[finding.strongest]
    if finding.level != "not-found" or row.about.threat is None:
        return ()
    untried = untried_attackers(rows, finding)
    effort = "full" if trained_encoders(rows, finding) else "standard"
    attackers = "".join(f" --attacker {name}" for name in untried) if untried else ""
    people = wanted_people(rows, finding)
    plan = () if people is None else (f"zeroevidence plan --pilot OUT/result.json --people {people}",)
    return (f"{_AUDIT}{attackers} --effort {effort}", *plan)
