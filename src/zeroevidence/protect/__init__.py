"""Protectors: what hides a speaker, so that there is something to audit."""

from zeroevidence.protect.external import External
from zeroevidence.protect.mcadams import McAdams
from zeroevidence.protect.shift import FormantShift, PitchShift
from zeroevidence.protect.voices import VoiceProtector, load_protector

__all__ = ["External", "FormantShift", "McAdams", "PitchShift", "VoiceProtector", "load_protector"]
