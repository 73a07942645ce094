"""Privacy beside utility: which points are not beaten by any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from zeroevidence.evaluation.rows.evaluation import Evaluation


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For pairs of which less is better, whether no other is as good in both and better in one.

    Examples
    --------
    >>> on_front([(0.0, 3.0), (1.0, 1.0), (1.0, 2.0), (2.0, 1.0)])
    [True, True, False, False]
    """
    return [not any(o[0] <= p[0] and o[1] <= p[1] and o != p for o in points) for p in points]


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A protector at one strength, by the rows of `assess_strengths`: its strongest attacker, and verification."""

    protector: str
    strength: float
    attack: Evaluation
    utility: Evaluation
    on_front: bool = False


def front_points(rows: Sequence[Evaluation], *, utility: Literal["eer", "top1"] = "eer") -> list[FrontPoint]:
    """Points of rows, in their order; of several attackers the first counts, as `assess` orders them."""
    attacks: dict[tuple[str, float], Evaluation] = {}
    verified: dict[tuple[str, float], Evaluation] = {}
    for row in rows:
        if row.about.protector is None or row.about.strength is None or row.about.role == "training":
            continue
        side = verified if row.about.role == "utility" else attacks
        side.setdefault((row.about.protector, row.about.strength), row)
    keys = [key for key in attacks if key in verified]
    sign = -1.0 if utility == "top1" else 1.0
    pairs = [(sign * float(verified[key][utility]), float(attacks[key]["d_ece"])) for key in keys]
    return [
        FrontPoint(*key, attacks[key], verified[key], best) for key, best in zip(keys, on_front(pairs), strict=True)
    ]
