"""Cues beside the voice as extractors, for audits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence.attack.cues.cue import CUES, cue_vector, find_cues
from zeroevidence.attack.cues.speech_signal import RATE
from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily, Vectors
from zeroevidence.data.speech.mixing import Wave

_VERSION = 2  # of all cues: enters cache keys, so raise it with any change of a vector
_ALL, _SOME = "cues", "cue:"


class CueExtractor:
    """Features of cues in alphabetical order, as deviations from usual values in spreads.

    Parameters
    ----------
    name
        ``cues`` for all, ``cue:rate`` for one, ``cue:rate+pitch`` for several.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.attack.extractors.extractor import load_extractor
    >>> model = load_extractor("cue:rate+pitch")
    >>> [cue.name for cue in model.cues], model.dim
    (['pitch', 'rate'], 15)
    >>> model.embed([np.zeros(1600, np.float32)]).shape
    (1, 15)
    """

    sample_rate = RATE

    def __init__(self, name: str = _ALL) -> None:
        self.cues = find_cues(CUES if name == _ALL else name.removeprefix(_SOME).split("+"))
        self.name = _ALL if len(self.cues) == len(CUES) else _SOME + "+".join(cue.name for cue in self.cues)
        self.dim = sum(len(cue.features) for cue in self.cues)
        self.fingerprint = f"cues/{_VERSION}({'+'.join(cue.name for cue in self.cues)})"

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per waveform; always finite, since a value that cannot be measured has its usual value."""
        return np.array([cue_vector(wave, self.cues) for wave in waves], np.float32).reshape(len(waves), self.dim)


EXTRACTORS.add(
    ExtractorFamily(
        "cues",
        "Cues beside the voice: rate, pitch, level, band, length, background and channel",
        forms=(_ALL, f"{_SOME}NAME"),
        extra="speech",
        takes=lambda name: name == _ALL or name.startswith(_SOME),
        load=lambda name, **_: CueExtractor(name),  # one core is enough
    )
)
