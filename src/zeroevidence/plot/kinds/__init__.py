"""Kinds of figures: each module registers its own in `zeroevidence.plot.kind.KINDS`."""
