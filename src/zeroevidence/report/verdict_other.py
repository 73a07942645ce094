"""Plain words for results that are not about recognising people: attributes, spoofing, anything else."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.catalogue import CATALOGUE
from zeroevidence.measure.zebra import D_ECE_MAX
from zeroevidence.report.verdict_rows import beats_chance, is_bound, number

_SPOOFING = ("tdcf_min", "adcf_min", "teer", "cm_eer")


def described(rows: Sequence[Evaluation], row: Evaluation) -> tuple[str, str]:
    """Headline and paragraph."""
    if "attribute" in row.labels and number(row, "d_ece") is not None:
        return _attribute(rows, row)
    if any(number(row, name) is not None for name in _SPOOFING):
        return _spoofing(row)
    return (
        "These results are about something else than recognising people",
        f"There {'is one row' if len(rows) == 1 else f'are {len(rows)} rows'} of results below, each number with what "
        "it means. None of them says how well people are recognised, so nothing follows about that.",
    )


def _attribute(rows: Sequence[Evaluation], row: Evaluation) -> tuple[str, str]:
    attribute = row.labels.get("attribute", "the attribute")
    left = (number(row, "d_ece") or 0.0) / D_ECE_MAX
    protector = row.labels.get("system", "")
    parts = [
        f"Of the protections tried, most is given away with {protector!r}: " if protector and len(rows) > 1 else "",
        f"an attacker who guesses {attribute} from a recording loses {100 * left:.3g} % of the doubt about it, on "
        "average over all beliefs to start from; 0 % is perfect privacy.",
    ]
    same = [
        share
        for other in rows
        if is_bound(other)
        and other.labels.get("attribute") == row.labels.get("attribute")
        and (share := number(other, "d_ece")) is not None
    ]
    if same and not is_bound(row):
        parts.append(f" Without protection it is {100 * max(same) / D_ECE_MAX:.3g} %.")
    if beats_chance(row) is False:
        parts.append(" This is no better than chance, and a weak attack is not evidence of privacy.")
    else:
        parts.append(" Other attackers may learn more.")
    words = "".join(parts)
    return f"What the voices still tell about {attribute}", words[0].upper() + words[1:]


def _spoofing(row: Evaluation) -> tuple[str, str]:
    attack = row.labels.get("attack", "")
    where = f"For {'all attacks together' if attack == 'all' else f'the attack {attack!r}'}, " if attack else ""
    told = []
    for name in _SPOOFING:
        value = number(row, name)
        if value is not None:
            entry = CATALOGUE[name]
            shown = f"{100 * value:.3g} %" if entry.unit == "rate" else f"{value:.3g}"
            told.append(f"{entry.title} is {shown}. {entry.meaning}")
    words = f"These results are about keeping spoofed speech out, not about privacy. {where}the {' '.join(told)}"
    return "How well spoofed speech is kept out", words.replace(". the ", ". The ")
