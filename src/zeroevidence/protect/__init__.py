"""Protectors: what takes evidence out of embeddings, and what hides a voice, so that there is something to audit.

Names are imported when first used: a GPU node with torch and NumPy alone can train a flow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zeroevidence.protect.adversarial import AdversarialAutoencoder
    from zeroevidence.protect.assessment import Roles, assess
    from zeroevidence.protect.external import External
    from zeroevidence.protect.flow import ZeroEvidenceFlow
    from zeroevidence.protect.linear import LinearNuller
    from zeroevidence.protect.mcadams import McAdams
    from zeroevidence.protect.models import Model, load_model, make_protector, new_model, save_model
    from zeroevidence.protect.shift import FormantShift, PitchShift
    from zeroevidence.protect.voices import VoiceProtector, load_protector

_HOMES = {
    "adversarial": ("AdversarialAutoencoder",),
    "assessment": ("Roles", "assess"),
    "external": ("External",),
    "flow": ("ZeroEvidenceFlow",),
    "linear": ("LinearNuller",),
    "mcadams": ("McAdams",),
    "models": ("Model", "load_model", "make_protector", "new_model", "save_model"),
    "shift": ("FormantShift", "PitchShift"),
    "voices": ("VoiceProtector", "load_protector"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdversarialAutoencoder",
    "External",
    "FormantShift",
    "LinearNuller",
    "McAdams",
    "Model",
    "PitchShift",
    "Roles",
    "VoiceProtector",
    "ZeroEvidenceFlow",
    "assess",
    "load_model",
    "load_protector",
    "make_protector",
    "new_model",
    "save_model",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module 'zeroevidence.protect' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(f"zeroevidence.protect.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
