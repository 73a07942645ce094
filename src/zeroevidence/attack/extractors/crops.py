"""Pooling over crops: the vector of a recording as the mean of those of its parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence.attack.extractors.extractor import Vectors
from zeroevidence.attack.onnx_models.runtime import OnnxExtractor
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import UsageError

FRAMES, STEP = 200, 100  # of a crop, and from one to the next: two seconds, every second
SUFFIX = "-crops"


def crop_starts(frames: int) -> list[int]:
    """Return where the crops of a recording begin; the last one ends where the recording does.

    Examples
    --------
    >>> crop_starts(150), crop_starts(200), crop_starts(201), crop_starts(430)
    ([0], [0], [0, 1], [0, 100, 200, 230])
    """
    last = max(frames - FRAMES, 0)
    return [*range(0, last, STEP), last]


class CropExtractor:
    """A speaker encoder of features whose vectors are means over crops; a short recording is one crop.

    Parameters
    ----------
    whole
        The encoder.
    """

    def __init__(self, whole: OnnxExtractor) -> None:
        if not whole.takes_features:
            raise UsageError(f"{whole.name}: takes waveforms; expected an encoder of features, of which crops are cut")
        self.whole, self.card = whole, whole.card
        self.name, self.sample_rate, self.dim = whole.name + SUFFIX, whole.sample_rate, whole.dim
        self.fingerprint = f"{whole.fingerprint}:crops:{FRAMES}:{STEP}"

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per waveform."""
        inputs = [self.whole.features(wave) for wave in waves]
        crops = [features[start : start + FRAMES] for features in inputs for start in crop_starts(len(features))]
        owners = np.repeat(np.arange(len(inputs)), [len(crop_starts(len(features))) for features in inputs])
        return mean_by_owner(self.whole.embed_features(crops), owners)


def mean_by_owner(vectors: Vectors, owners: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Vectors:
    """Return the mean of the vectors of each owner; owners are counted from 0.

    Examples
    --------
    >>> mean_by_owner(np.array([[1.0], [3.0], [5.0]], np.float32), np.array([0, 0, 1])).tolist()
    [[2.0], [5.0]]
    """
    sums = np.zeros((int(owners.max()) + 1, vectors.shape[1]))
    np.add.at(sums, owners, vectors)
    return (sums / np.bincount(owners)[:, None]).astype(np.float32)
