"""The attackers of the VoicePrivacy challenges, from the least to the best informed, and the bounds of every audit."""

from __future__ import annotations

from zeroevidence.attack.attackers.attacker import ATTACKERS, Attacker
from zeroevidence.data.threat import RANDOM, UNPROTECTED, ThreatModel

UNPROTECTED_SPEECH = ThreatModel(UNPROTECTED, "original", "original", calibration="original")
RANDOM_VECTORS = ThreatModel(RANDOM, "noise", "noise")

ATTACKERS.add(
    Attacker(
        "ignorant",
        "does not know that the voices are protected",
        ThreatModel("ignorant", "original", "anonymised", calibration="original"),
        usual=True,
    )
)
ATTACKERS.add(
    Attacker(
        "lazy-informed",
        "knows the protection and applies it to the known voices too",
        ThreatModel("lazy-informed", "anonymised", "anonymised", calibration="anonymised"),
        usual=True,
    )
)
ATTACKERS.add(
    Attacker(
        "semi-informed",
        "knows the protection and has learned from voices protected with it",
        ThreatModel("semi-informed", "anonymised", "anonymised", "anonymised", "anonymised"),
        usual=True,
    )
)
ATTACKERS.add(
    Attacker(
        "semi-informed-adapter",
        "the same with a network that learned to undo the protection",
        ThreatModel("semi-informed", "anonymised", "anonymised", "anonymised", "anonymised", adapter=True),
        extra="torch",
    )
)
