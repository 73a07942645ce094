"""The sentence on other protocols: what the same attacker learns who chooses what is enrolled, tried and searched."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.finding import PEOPLE_LABELS
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.report.verdict.phrases import percent

_SEX = {"told": "told", "heard": "heard by a classifier"}


def protocol_sentences(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Return what the strongest attacker learns under the protocol that promised most on development people.

    Nothing where no other protocol was tried.
    """
    strongest = rows[finding.strongest]
    others = [row for row in rows if row.about.role == "protocol" and _is_same_attack(row, strongest)]
    if not others:
        return []
    best = max(others, key=_promised)
    protocol = best.about.protocol
    if protocol is None or _promised(best) <= _promised(strongest):
        return ["No other protocol that was tried promised more on other people."]
    return [
        f"Under the protocol that promised most on other people ({protocol_text(protocol)}), which is not that of the "
        f"numbers above, the same attacker puts the right name to {percent(best.number('top1') or 0.0)} of "
        f"{best.counts['trials']} trials, and a trial gives away {max(best.number('alid') or 0.0, 0.0):.2f} bits."
    ]


def protocol_text(protocol: Protocol) -> str:
    """Return a protocol in words.

    Examples
    --------
    >>> protocol_text(Protocol(4, tried=3, sex="told"))
    '4 recordings enrolled, 3 of one person tried together, people of the same sex searched for, the sex being told'
    """
    enrolled = f"{protocol.enrolled} recording{'s'[: protocol.enrolled > 1]} enrolled"
    tried = "one tried at a time" if protocol.tried == 1 else f"{protocol.tried} of one person tried together"
    searched = "everybody searched"
    if protocol.sex is not None:
        searched = f"people of the same sex searched for, the sex being {_SEX[protocol.sex]}"
    return f"{enrolled}, {tried}, {searched}"


def _is_same_attack(row: Evaluation, strongest: Evaluation) -> bool:
    same = all(row.labels.get(name) == strongest.labels.get(name) for name in ("system", *PEOPLE_LABELS))
    return same and row.about.threat == strongest.about.threat


def _promised(row: Evaluation) -> float:
    return row.about.development or 0.0
