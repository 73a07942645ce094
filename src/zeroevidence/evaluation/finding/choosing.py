"""How development people choose the attacker that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Developed:
    """What an attacker learned of development people.

    Parameters
    ----------
    bits
        Their disclosure.
    error
        Its standard error over these people.
    fused
        Whether the attacker is a fusion of others.
    """

    bits: float
    error: float = 0.0
    fused: bool = False


def choose(attackers: Sequence[Developed]) -> int:
    """Return the number of the attacker that counts: a fusion, unless another did clearly better.

    The largest of many numbers is large by chance too, and a fusion, whose number is cross-fitted, is not one of many.
    So another attacker must be better by more than its standard error. Of equals it is the first.

    Examples
    --------
    >>> choose([Developed(4.1, 0.2), Developed(3.8, 0.2), Developed(4.0, 0.2, fused=True)])
    2
    >>> choose([Developed(4.1, 0.05), Developed(3.8, 0.2), Developed(4.0, 0.2, fused=True)])
    0
    """
    numbers = range(len(attackers))
    best = max(numbers, key=lambda i: attackers[i].bits)
    least = attackers[best].bits - attackers[best].error
    fused = [i for i in numbers if attackers[i].fused and attackers[i].bits >= least]
    return max(fused, key=lambda i: attackers[i].bits) if fused else best
