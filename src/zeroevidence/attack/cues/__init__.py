"""Cues beside the voice: what an utterance tells about its speaker even when the voice was changed.

Speaking rate and pauses, pitch, level and noise, band and length survive many voice changers, wholly or in part. Every
module of this package that describes a cue enters it into the table `CUES`. `zeroevidence.attack.extractors` makes
each of them an extractor, ``cue:NAME``, and all together, ``cues``.
"""
