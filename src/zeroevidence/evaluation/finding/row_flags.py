"""Flags of rows that follow from chance and from the rows beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zeroevidence.evaluation.finding.chance import Chance, chances
from zeroevidence.evaluation.finding.finding import same_people, same_setting
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag, is_above_half
from zeroevidence.uncertainty.compare import Difference, difference, unpaired_difference

_COMPARISONS_PER_PERSON = 4  # that count as independent: scores of people who are not told apart vary about as much
_OF_CHANCE = ("attacker-at-chance", "control-failed", "too-few-to-test")
_OF_OTHER_ROWS = ("no-positive-control", "weaker-than-cheaper")
_COMPARED = ("top1", "alid", "d_ece")  # the first that both rows have


def flag_row(row: Evaluation) -> Evaluation:
    """Return a row with the flags that follow from it alone."""
    flags = [flag for flag in row.flags if flag.code not in _OF_CHANCE]
    eer = row.metrics.get("eer")
    if eer is not None and row.about.role != "floor" and is_above_half(eer, _independent_comparisons(row)):
        kind = "the class" if row.about.question == "attribute" else "the same speaker"
        flags.insert(0, flag("eer-above-half", measure="EER", kind=kind))
    return replace(row, flags=(*flags, *_chance_flags(row, chances([row])[0])))


def _independent_comparisons(row: Evaluation) -> int:
    """Return how many comparisons count as independent where there is no interval: a few of each person."""
    fewest = min(row.counts.get(name, 0) for name in ("target", "nontarget"))
    return min(fewest, _COMPARISONS_PER_PERSON * row.counts.get("speakers", fewest))


def flag_rows(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return rows with the flags that need all of them: chance, a positive control, attackers by what they know."""
    chance = chances(rows)
    return [
        replace(
            row,
            flags=(
                *(flag for flag in row.flags if flag.code not in (*_OF_CHANCE, *_OF_OTHER_ROWS)),
                *_chance_flags(row, chance[i]),
                *_flags_beside(row, [other for other in rows if same_people(row, other)]),
            ),
        )
        for i, row in enumerate(rows)
    ]


def _chance_flags(row: Evaluation, chance: Chance) -> list[Flag]:
    if chance.too_few and chance.beaten is None:
        return [flag("too-few-to-test", people=row.counts["speakers"])]
    if chance.p_value is None or chance.beaten is not False or row.about.role not in ("attack", "control"):
        return []
    control = row.about.role == "control" and row.about.question == "identity"
    return [flag("attacker-at-chance"), *([flag("control-failed")] if control else [])]


def _flags_beside(row: Evaluation, other_rows: Sequence[Evaluation]) -> list[Flag]:
    threat = row.about.threat
    if threat is None or not threat.is_named_attacker or row.about.question != "identity":
        return []
    if row.about.role in ("room", "protocol"):
        return []
    flags = []
    if not any(other.about.role == "control" for other in other_rows):
        flags.append(flag("no-positive-control"))
    cheaper = dict.fromkeys(
        other.about.threat.name
        for other in other_rows
        if other.about.threat is not None
        and other.about.threat.is_named_attacker
        and other.about.role != "protocol"
        and same_setting(other, row)
        and other.about.threat.knowledge < threat.knowledge
        and other.labels.get("system") == row.labels.get("system")
        and learns_less(row, other)
    )
    return [*flags, *(flag("weaker-than-cheaper", cheaper=name) for name in cheaper)]


def learns_less(row: Evaluation, other: Evaluation) -> bool:
    """Return whether the attacker of a row learns less than another one, beyond the interval of the difference.

    They are compared by top-1 where both rows have it, else by ALID, else by D_ECE. The difference is paired where the
    same people were left out of both; of results from files it rests on both spreads. Without either it is False.
    """
    name = next((name for name in _COMPARED if all(part.number(name) is not None for part in (row, other))), None)
    if name is None:
        return False
    gap = _paired(row, other, name) or _unpaired(row, other, name)
    return gap is not None and gap.value < 0.0 and gap.high < 0.0


def _paired(row: Evaluation, other: Evaluation, name: str) -> Difference | None:
    first, second = row.replicates, other.replicates
    if first is None or second is None or any(name not in part.left_out for part in (first, second)):
        return None
    if (row.setup.intervals, row.setup.seed) != (other.setup.intervals, other.setup.seed):
        return None
    people = first.people[name]
    if first.speakers is None or first.speakers != second.speakers:
        return None
    if not np.array_equal(people.shares, second.people[name].shares):
        return None
    left_out = first.left_out[name], second.left_out[name]
    return difference(float(row[name]), float(other[name]), left_out, people.shares, people.effective, row.setup.level)


def _unpaired(row: Evaluation, other: Evaluation, name: str) -> Difference | None:
    first, second = row.metrics[name].spread, other.metrics[name].spread
    if first is None or second is None:
        return None
    return unpaired_difference(float(row[name]), float(other[name]), first, second, row.setup.level)
