"""Attackers: threat models by name, and the bounds of every audit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from zeroevidence.data.threat import RANDOM, UNPROTECTED, ThreatModel
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


# The bounds of every audit.
UNPROTECTED_SPEECH = ThreatModel(UNPROTECTED, "original", "original", calibration="original")
RANDOM_VECTORS = ThreatModel(RANDOM, "noise", "noise")

# The attackers of the VoicePrivacy challenges, from the least to the best informed.
_INFORMED = ThreatModel("semi-informed", "anonymised", "anonymised", "anonymised", "anonymised")
for entry in (
    Attacker(
        "ignorant",
        "does not know that the voices are protected",
        ThreatModel("ignorant", "original", "anonymised", calibration="original"),
        usual=True,
    ),
    Attacker(
        "lazy-informed",
        "knows the protection and applies it to the known voices too",
        ThreatModel("lazy-informed", "anonymised", "anonymised", calibration="anonymised"),
        usual=True,
    ),
    Attacker(
        "semi-informed", "knows the protection and has learned from voices protected with it", _INFORMED, usual=True
    ),
    Attacker(
        "semi-informed-adapter",
        "the same with a network that learned to undo the protection",
        replace(_INFORMED, adapter=True),
        extra="torch",
    ),
):
    ATTACKERS.add(entry)
