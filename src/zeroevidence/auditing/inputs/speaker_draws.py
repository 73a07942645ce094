"""Whether a protection seems to be drawn once for each speaker.

A protection that is the same for everybody keeps recordings of a person alike because they were alike before. So what
is compared is the likeness of two protected recordings with that of the same two before protection. Pairs of different
people show how likeness before goes with likeness after; where pairs of one person are more alike than that, something
was added that recordings of a person share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech
from zeroevidence.data.embeddings import require_speakers

_MOST = 600  # recordings that are compared
_PERMUTATIONS = 199
_LEVEL = 0.01  # of the tests
_LEAST = 0.25  # of what a person's recordings have in common: fixed changes of pitch, formants and poles stay below
_ROUNDING = 1e-6  # of a cosine of embeddings in single precision


@dataclass(frozen=True, slots=True)
class SharedChange:
    """What protected recordings of a person have in common.

    Parameters
    ----------
    share
        Of what they have in common beyond those of different people, the part that their originals do not explain.
    p_value
        Of the hypothesis that what is not explained has nothing to do with who speaks.
    linkable_p_value
        Of the hypothesis that protected recordings of a person are no more alike than those of different people.
    """

    share: float = 0.0
    p_value: float = 1.0
    linkable_p_value: float = 1.0

    @property
    def drawn_per_speaker(self) -> bool:
        """Whether the protection seems to be drawn per speaker, and so keeps recordings of a person linkable."""
        return self.share >= _LEAST and max(self.p_value, self.linkable_p_value) <= _LEVEL


def shared_change(
    folds: Sequence[EncodedSpeech], seed: int = 0, recordings: Mapping[str, str] = MappingProxyType({})
) -> SharedChange:
    """Return what protected trials of a person have in common that the original trials do not explain.

    Parameters
    ----------
    folds
        Both kinds of speech in each fold of people; trials of development people are compared, too.
    seed
        Of the permutations of recordings among people.
    recordings
        By the name of a trial, the recording that it is a part of: parts of one recording, which may have been
        protected as a whole, are not compared. A trial that is not named is a recording of its own.
    """
    original, protected, speakers, names = _paired_trials(folds)
    same = speakers[:, None] == speakers[None, :]
    files = np.array([recordings.get(name, name) for name in names.tolist()], dtype=np.str_)
    within = same & (files[:, None] != files[None, :])
    if not within.any() or same.all():
        return SharedChange()
    before, after = original @ original.T, protected @ protected.T
    common = float(after[within].mean() - after[~same].mean())
    if common < _ROUNDING:
        return SharedChange()
    unexplained = after - _explained(before, after, ~same)
    rng = np.random.default_rng([seed, 0x64726177])
    orders = [rng.permutation(len(speakers)) for _ in range(_PERMUTATIONS)]
    return SharedChange(
        float(unexplained[within].mean()) / common,
        _p_value(unexplained, within, orders),
        _p_value(after, within, orders),
    )


def _explained(before: FloatArray, after: FloatArray, different: BoolArray) -> FloatArray:
    """Return the likeness after protection that the likeness before predicts, by a line through different people."""
    x, y = before[different], after[different]
    spread = float(x.var())
    slope = max(float(((x - x.mean()) * (y - y.mean())).mean()) / spread, 0.0) if spread > 0.0 else 0.0
    return y.mean() + slope * (before - x.mean())


def _p_value(likeness: FloatArray, within: BoolArray, orders: Sequence[IntArray]) -> float:
    """Return how often people that are made up of any recordings are as alike as the real ones."""
    observed = likeness[within].mean()
    rows, columns = np.nonzero(within)
    as_alike = sum(likeness[order[rows], order[columns]].mean() >= observed for order in orders)
    return float((1 + as_alike) / (1 + len(orders)))


def _paired_trials(folds: Sequence[EncodedSpeech]) -> tuple[FloatArray, FloatArray, StrArray, StrArray]:
    """Return unit vectors of trials before and after protection, each trial once, who speaks, and their names."""
    pairs: dict[str, tuple[FloatArray, FloatArray]] = {}
    by_speaker: dict[str, list[str]] = defaultdict(list)
    for encoded in folds:
        for name, before in () if encoded.original is None else encoded.original.parts().items():
            after = encoded.anonymised.parts()[name]
            _, here, there = np.intersect1d(before.ids, after.ids, return_indices=True)
            for i, j in zip(here.tolist(), there.tolist(), strict=True) if name.endswith("trial") else ():
                recording = str(before.ids[i])
                if recording not in pairs:
                    pairs[recording] = _unit(before.vectors[i]), _unit(after.vectors[j])
                    by_speaker[str(require_speakers(before)[i])].append(recording)
    people = sorted(speaker for speaker, names in by_speaker.items() if len(names) > 1)[: _MOST // 2]
    each = _MOST // max(len(people), 1)
    chosen = [(speaker, name) for speaker in people for name in sorted(by_speaker[speaker])[:each]]
    original, protected = (np.array([pairs[name][side] for _, name in chosen]) for side in (0, 1))
    speakers, names = (np.array([row[column] for row in chosen], dtype=np.str_) for column in (0, 1))
    return original, protected, speakers, names


def _unit(vector: FloatArray) -> FloatArray:
    wide = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(wide))
    return wide / length if length > 0.0 else wide
