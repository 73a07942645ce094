"""Speaker encoders: bundled ones, those that users added with their cards, and checks of both.

`bundled/` holds encoders with card, licence and origin, `check/` the utterance that every encoder is checked on.
"""
