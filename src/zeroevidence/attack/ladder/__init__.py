"""Attackers of growing effort, from which development people choose; each module here registers its steps."""

from __future__ import annotations

import importlib
import pkgutil

from zeroevidence.attack.ladder.fusion import Fusion, held_out_fusion
from zeroevidence.attack.ladder.registry import EFFORTS, Effort, Rung, rung, rungs

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["EFFORTS", "Effort", "Fusion", "Rung", "held_out_fusion", "rung", "rungs"]
