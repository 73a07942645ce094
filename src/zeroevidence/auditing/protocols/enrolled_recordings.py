"""How many recordings of each person are enrolled: one, two, four, or all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.protocols.protocol_choice import PROTOCOLS, ProtocolChoice, ProtocolOption, usual_protocol
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.speech.corpus import random_key
from zeroevidence.evaluation.rows.about import Protocol

NUMBERS = (1, 2, 4)


def first_recordings(part: Embeddings, number: int) -> Embeddings:
    """Return at most so many recordings of each person, drawn by their names: the same ones from all encoders."""
    names, speakers = part.ids.tolist(), require_speakers(part).tolist()
    kept: dict[str, int] = {}
    rows = []
    for row in sorted(range(len(names)), key=lambda at: random_key(names[at])):
        kept[speakers[row]] = kept.get(speakers[row], 0) + 1
        if kept[speakers[row]] <= number:
            rows.append(row)
    return part.take(np.array(sorted(rows), dtype=np.int64))


def _enrolling(protocol: Protocol, number: int) -> Protocol:
    return replace(protocol, enrolled=number)


def _options(_train: Embeddings, sets: EmbeddingSets) -> Sequence[ProtocolOption]:
    most = usual_protocol(sets).enrolled
    return [
        ProtocolOption(partial(_enrolling, number=number), partial(_with_first_recordings, number=number))
        for number in NUMBERS
        if number < most
    ]


def _with_first_recordings(sets: EmbeddingSets, number: int) -> EmbeddingSets:
    return sets.with_enrolment(partial(first_recordings, number=number))


ENROLLED = PROTOCOLS.add(ProtocolChoice("enrolled", "how many recordings of each person are enrolled", 10, _options))
