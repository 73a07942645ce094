"""Assessment of protectors: attackers of an attribute in protected embeddings, and speaker verification.

Attackers are trained on *protected* vectors of people that the protector has not seen, and tested on others again; the
strongest counts. Utility is speaker verification [Noé et al. 2022, sec. 4].
"""
