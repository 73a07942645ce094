"""Attackers: threat models by name."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.data.threat import ThreatModel
from zeroevidence.registry import Registry


@dataclass(frozen=True, slots=True)
class Attacker:
    """A registered attacker."""

    name: str
    title: str  # continues "an attacker who ..."
    threat: ThreatModel
    usual: bool = False  # whether an audit tries it by default
    extra: str | None = None  # the optional part of the package that it needs


ATTACKERS: Registry[Attacker] = Registry("attacker", package="zeroevidence.attack.attackers")


def usual_attackers() -> list[str]:
    """Return the names of the attackers that an audit tries by default."""
    return [attacker.name for attacker in ATTACKERS.values() if attacker.usual]


def find_attacker(attacker: str | ThreatModel) -> ThreatModel:
    """Return a threat model by name, or the given one.

    Examples
    --------
    >>> find_attacker("ignorant").enrolment
    'original'
    """
    return attacker if isinstance(attacker, ThreatModel) else ATTACKERS.find(attacker).threat
