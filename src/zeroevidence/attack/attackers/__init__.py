"""Attackers: who compares what with what, and what they learned from; each module of this package registers its own."""

from __future__ import annotations

import importlib
import pkgutil

from zeroevidence.attack.attackers.card import AttackerCard, attacker_card
from zeroevidence.attack.attackers.registry import (
    ATTACKERS,
    Attacker,
    find_attacker,
    register_attacker,
    usual_attackers,
)

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "ATTACKERS",
    "Attacker",
    "AttackerCard",
    "attacker_card",
    "find_attacker",
    "register_attacker",
    "usual_attackers",
]
