"""Choice of the attacker that represents a system: made on the people it learned from, checked on the tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.chance import Chance, chances
from zeroevidence.evaluation.finding.finding import chosen, clearly_stronger
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.assessment.maps import FigureData


def order_by_strength(rows: Sequence[Evaluation], groups: Sequence[tuple[slice, FigureData]]) -> list[Evaluation]:
    """Return the rows of each group by attacker, the strongest first, and figures with the first row.

    The rows of one attacker stay together, and attackers that judge all vectors of a person together come last. Chance
    is that of all rows, so that the finding names the same attackers.
    """
    result, chance = list(rows), chances(rows)
    for place, figures in groups:
        members = range(place.start, place.stop)
        ordered = [
            i
            for pooled in (False, True)
            for i in _by_attacker(rows, [i for i in members if rows[i].about.pooled == pooled], chance)
        ]
        first, *rest = (rows[i] for i in ordered)
        result[place] = [replace(first, maps=figures.maps, curves={**first.curves, **figures.curves}), *rest]
    return result


def _by_attacker(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> list[int]:
    left: dict[str, list[int]] = {}
    for i in numbers:
        left.setdefault(rows[i].labels["attacker"], []).append(i)
    ordered: list[int] = []
    while left:
        tested = [i for members in left.values() for i in members if rows[i].about.role != "training"]
        ordered += left.pop(rows[chosen(rows, tested, chance)].labels["attacker"])
    return ordered


def add_choice_flags(rows: Sequence[Evaluation], groups: Sequence[slice]) -> list[Evaluation]:
    """Return ordered rows, with a warning on the chosen attacker's where another is clearly stronger when tested."""
    chance, result = chances(rows), list(rows)
    for place in groups:
        tested = [i for i in range(place.start, place.stop) if rows[i].about.development is not None]
        for i in tested:
            same = [j for j in tested if _alike(rows[i], rows[j])]
            if rows[i].labels["attacker"] != rows[same[0]].labels["attacker"]:
                continue
            better = clearly_stronger(rows, i, same, "d_ece", chance)
            if better is not None:
                result[i] = rows[i].with_flags(flag("headline-beaten", better=rows[better].labels["attacker"]))
    return result


def _alike(row: Evaluation, other: Evaluation) -> bool:
    return row.about.of_class == other.about.of_class and row.about.pooled == other.about.pooled
