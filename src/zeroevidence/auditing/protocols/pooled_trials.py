"""Longer trials: recordings that are known to be of one person, such as those of one pseudonym, tried together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.protocols.protocol_choice import (
    PROTOCOLS,
    ProtocolChoice,
    ProtocolOption,
    recordings_of_each,
)
from zeroevidence.data.embeddings import Embeddings, require_speakers


def pooled(part: Embeddings) -> Embeddings:
    """Return one trial for each person, the mean of the person's vectors; attributes that recordings share are kept."""
    means = part.profiles()
    speakers = require_speakers(part)
    rows = [np.flatnonzero(speakers == name) for name in means.ids.tolist()]
    attributes = {
        name: np.array([values[at[0]] if len(np.unique(values[at])) == 1 else "" for at in rows])
        for name, values in part.attributes.items()
    }
    ids = np.array([f"{name}, {len(at)} recordings" for name, at in zip(means.ids.tolist(), rows, strict=True)])
    return Embeddings(means.vectors, ids, means.speakers, attributes)


def _options(_train: Embeddings, sets: EmbeddingSets) -> Sequence[ProtocolOption]:
    most = int(recordings_of_each(sets.eval_trial).max())
    if most < 2 or recordings_of_each(sets.dev_trial).max() < 2:
        return []
    return [ProtocolOption(lambda protocol: replace(protocol, tried=most), lambda sets: sets.with_trials(pooled))]


PROTOCOLS.add(ProtocolChoice("pooled", "whether recordings of one person are tried together", 20, _options))
