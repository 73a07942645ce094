"""Cues beside the voice: evidence about the speaker that remains when the voice is changed.

Speaking rate and pauses, pitch, level and noise, band and length survive many voice changers, wholly or in part. In
`background` and `channel` no voice is heard, so they show what the recordings themselves give away. Each cue is a
module of this package that adds it to `CUES`. Each is an extractor, ``cue:NAME``, and so are all together, ``cues``.
"""
