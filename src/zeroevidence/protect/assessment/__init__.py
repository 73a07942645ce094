"""How much of an attribute is left in protected embeddings, and how much of the speaker [Noé et al. 2022, sec. 4].

The attacker's classifiers are trained on *protected* vectors of people that the protector has not seen, and tested on
others again; the strongest counts. Utility is speaker verification.
"""

from __future__ import annotations

from zeroevidence.data.embeddings import require_speakers
from zeroevidence.protect.assessment.attacks import assess, attribute_scores, point_mass_flags
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.assessment.maps import MapMethod, flat
from zeroevidence.protect.assessment.numberattacks import assess_number
from zeroevidence.protect.assessment.regressors import REGRESSORS
from zeroevidence.protect.assessment.roles import Roles, attribute_labels

__all__ = [
    "CLASSIFIERS",
    "REGRESSORS",
    "MapMethod",
    "Roles",
    "assess",
    "assess_number",
    "attribute_labels",
    "attribute_scores",
    "flat",
    "point_mass_flags",
    "require_speakers",
]
