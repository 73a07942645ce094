"""The table of attackers: threat models by the name that people call them."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.data.threat import ThreatModel
from zeroevidence.registry import Registry


@dataclass(frozen=True, slots=True)
class Attacker:
    """One attacker that has a name."""

    name: str
    title: str  # one line of words
    threat: ThreatModel
    usual: bool  # whether an audit tries it unless told otherwise
    extra: str | None  # the optional part that it needs


ATTACKERS: Registry[Attacker] = Registry("attacker", package="zeroevidence.attack.attackers")


def register_attacker(
    name: str, title: str, threat: ThreatModel, *, usual: bool = False, extra: str | None = None
) -> ThreatModel:
    """Add an attacker to `ATTACKERS`, and return its threat model."""
    ATTACKERS.add(Attacker(name, title, threat, usual, extra))
    return threat


def usual_attackers() -> list[str]:
    """Names of the attackers that an audit tries unless told otherwise."""
    return [one.name for one in ATTACKERS.values() if one.usual]


def find_attacker(attacker: str | ThreatModel) -> ThreatModel:
    """A threat model by name, or the one given.

    Examples
    --------
    >>> from zeroevidence.attack.attackers.attacker import find_attacker
    >>> find_attacker("ignorant").enrolment
    'original'
    """
    return attacker if isinstance(attacker, ThreatModel) else ATTACKERS.find(attacker).threat
