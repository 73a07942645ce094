"""Attackers of attributes: classifiers, each in a module of this package that registers itself."""

from __future__ import annotations

import importlib
import pkgutil

from zeroevidence.protect.assessment.classifiers.base import (
    CLASSIFIERS,
    Classifier,
    ClassifierKind,
    WeightedClassifier,
    find_classifier,
    register_classifier,
)

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "CLASSIFIERS",
    "Classifier",
    "ClassifierKind",
    "WeightedClassifier",
    "find_classifier",
    "register_classifier",
]
