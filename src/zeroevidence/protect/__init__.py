"""Protectors: of attributes, which take evidence out of embeddings, and of voices, so that there is something to audit.

Names are imported when they are first used, so a GPU node with only torch and NumPy can train a flow.
`attributes.kinds` and `voices.kinds` list what there is.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zeroevidence.protect.assessment import Roles, assess
    from zeroevidence.protect.attributes.adversarial import AdversarialAutoencoder
    from zeroevidence.protect.attributes.classmeans import ClassMeans
    from zeroevidence.protect.attributes.conditional import Conditional
    from zeroevidence.protect.attributes.flow import ZeroEvidenceFlow
    from zeroevidence.protect.attributes.inlp import Inlp
    from zeroevidence.protect.attributes.leace import Leace
    from zeroevidence.protect.attributes.linear import LinearNuller
    from zeroevidence.protect.attributes.transport import Transport
    from zeroevidence.protect.models import Model, load_model, make_protector, new_model, save_model
    from zeroevidence.protect.voices import VoiceProtector, load_protector
    from zeroevidence.protect.voices.external import External
    from zeroevidence.protect.voices.mcadams import McAdams
    from zeroevidence.protect.voices.shift import FormantShift, PitchShift

_HOMES = {
    "assessment": ("Roles", "assess"),
    "attributes.adversarial": ("AdversarialAutoencoder",),
    "attributes.classmeans": ("ClassMeans",),
    "attributes.conditional": ("Conditional",),
    "attributes.flow": ("ZeroEvidenceFlow",),
    "attributes.inlp": ("Inlp",),
    "attributes.leace": ("Leace",),
    "attributes.linear": ("LinearNuller",),
    "attributes.transport": ("Transport",),
    "models": ("Model", "load_model", "make_protector", "new_model", "save_model"),
    "voices": ("VoiceProtector", "load_protector"),
    "voices.external": ("External",),
    "voices.mcadams": ("McAdams",),
    "voices.shift": ("FormantShift", "PitchShift"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdversarialAutoencoder",
    "ClassMeans",
    "Conditional",
    "External",
    "FormantShift",
    "Inlp",
    "Leace",
    "LinearNuller",
    "McAdams",
    "Model",
    "PitchShift",
    "Roles",
    "Transport",
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
