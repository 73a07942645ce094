"""Seeds of a voice protector that is run several times on the same speech."""

from __future__ import annotations

import hashlib

from zeroevidence.protect.voices import load_protector
from zeroevidence.protect.voices.voice_protector import VoiceProtector


def seeded_protectors(name: str, seed: int, number: int) -> tuple[VoiceProtector, ...]:
    """Return the protector of each draw, by its name on the command line."""
    return tuple(load_protector(name, seed=draw_seed(seed, draw)) for draw in range(number))


def draw_seed(seed: int, draw: int) -> int:
    """Return the seed of a draw: that of the audit for the release, and of 31 bits of a hash of both for further ones.

    Examples
    --------
    >>> draw_seed(7, 0), draw_seed(7, 1) != draw_seed(7, 2)
    (7, True)
    """
    if draw == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} draw {draw}".encode()).digest()[:4], "big") >> 1
