"""One paragraph for a data protection impact assessment: data, attackers, numbers with limits, what was not tested."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.attackers.attacker import ATTACKERS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.by_knowledge import attackers_by_system
from zeroevidence.report.layout.formatting import one_line
from zeroevidence.report.verdict.groups import system_text
from zeroevidence.report.verdict.next_steps import trained_encoders, untried_attackers
from zeroevidence.report.verdict.people import people_used
from zeroevidence.report.verdict.phrases import capitalise, unbroken
from zeroevidence.report.verdict.room import find_control
from zeroevidence.report.verdict.summary import summary


def assessment(rows: Sequence[Evaluation], finding: Finding) -> str:
    """Return the paragraph on how well people are recognised; it stands by itself, without the report."""
    row = rows[finding.strongest]
    tried, *others, after = summary(rows, finding)
    used = [unbroken(sentence) for sentence in people_used(row)]
    measured = [sentence for sentence in others if sentence not in used]
    sentences = [
        *_data(row),
        tried,
        *used[:1],
        *_attackers(rows, finding),
        *measured,
        _not_tested(rows, finding),
        after,
        "Another attacker, other people or other recordings may give another result.",
    ]
    return unbroken(" ".join(sentences))


def _data(row: Evaluation) -> list[str]:
    """The names of the data and of the protection, where there are some."""
    dataset, system = (row.labels.get(name) for name in ("dataset", "system"))
    data = f" ({one_line(dataset)})" if dataset else ""
    if not system:
        return []
    if row.about.is_bound:
        return [f"Recordings{data} were tested without protection."]
    protection = system_text(one_line(system))
    return [f"Recordings{data} were protected with {protection}, and the protection was tested by attacking it."]


def _attackers(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Who attacked, and with what."""
    system = attackers_by_system(rows, finding)[0]
    kinds = [threat.name for i in system.best if (threat := rows[i].about.threat) is not None]
    known = [ATTACKERS[name].title for name in dict.fromkeys(kinds) if name in ATTACKERS]
    if not known or rows[finding.strongest].about.is_bound:
        return []
    several = "Attackers of these kinds were tried: one who" if len(known) > 1 else "The attacker"
    tools = [f"{noun} {', '.join(names)}" for noun, names in _tools(rows, system.attempts) if names]
    with_what = f" They used the {' and the '.join(tools)}." if tools else ""
    return [capitalise(f"{several} {'; one who '.join(known)}.{with_what}")]


def _tools(rows: Sequence[Evaluation], attempts: Sequence[int]) -> list[tuple[str, list[str]]]:
    def distinct(label: str) -> list[str]:
        names = [name for i in attempts for name in rows[i].labels.get(label, "").split("+")]
        return [one_line(name) for name in dict.fromkeys(names) if name and name not in ("fusion", "chosen")]

    parts = [("speaker encoders", distinct("encoder")), ("scoring methods", distinct("backend"))]
    return [(noun.removesuffix("s") if len(names) == 1 else noun, names) for noun, names in parts]


def _not_tested(rows: Sequence[Evaluation], finding: Finding) -> str:
    """What the attackers did not try."""
    row = rows[finding.strongest]
    missing = []
    untried = [] if row.about.threat is None or row.about.is_bound else untried_attackers(rows, finding)
    missing += [f"somebody who {ATTACKERS[name].title}" for name in untried]
    if not row.about.is_bound and not trained_encoders(rows, finding):
        missing.append("an attacker who trains a speaker encoder on protected speech")
    if row.recordings is None:
        missing.append("several recordings of one person together")
    if not find_control(rows, finding).rows:
        missing.append("what rooms and microphones give away")
    missing.append("what is said, which may name a person whatever the voice")
    return f"Not tested: {'; '.join(missing)}."
