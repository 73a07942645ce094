"""Cues beside the voice: what an utterance tells about its speaker even when the voice was changed.

Speaking rate and pauses, pitch, level and noise, band and length survive many voice changers, wholly or in part. Every
module of this package that describes a cue enters it into the table `CUES`. `zeroevidence.attack.extractors` makes
each of them an extractor, ``cue:NAME``, and all together, ``cues``.
"""

from importlib import import_module
from pkgutil import iter_modules

from zeroevidence.attack.cues.registry import CUES, Cue, Feature, cue_values, cue_vector, find_cues, register_cue
from zeroevidence.attack.cues.sound import Sound

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["CUES", "Cue", "Feature", "Sound", "cue_values", "cue_vector", "find_cues", "register_cue"]
