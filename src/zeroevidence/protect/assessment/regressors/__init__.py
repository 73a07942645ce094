"""Attackers of attributes that are numbers: regressors, each in a module of this package that registers itself."""

from __future__ import annotations

import importlib
import pkgutil

from zeroevidence.protect.assessment.regressors.base import (
    REGRESSORS,
    Regressor,
    RegressorKind,
    find_regressor,
    register_regressor,
)

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["REGRESSORS", "Regressor", "RegressorKind", "find_regressor", "register_regressor"]
