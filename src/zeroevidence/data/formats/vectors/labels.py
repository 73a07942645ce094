"""Embeddings with labels of an attribute from another file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.vectors.read import read_embeddings, read_labels
from zeroevidence.errors import InputError


def read_labelled(
    path: str | Path, attribute: str, *, labels: str | Path | None = None, speakers: str | Path | None = None
) -> Embeddings:
    """Return embeddings with an attribute.

    Parameters
    ----------
    path
        The embeddings.
    attribute
        What the labels are called.
    labels
        Lines of `utterance label` or `speaker label`, where the embeddings do not have the attribute.
    speakers
        Lines of `utterance speaker`, where the embeddings do not name speakers.
    """
    data = read_embeddings(path, ids=speakers)
    if labels is None:
        return data
    by_name = read_labels(labels)
    people = data.ids if data.speakers is None else data.speakers
    values = [by_name.get(ids[0], by_name.get(ids[1])) for ids in zip(data.ids.tolist(), people.tolist(), strict=True)]
    if None in values:
        utterance = str(data.ids[values.index(None)])
        raise InputError(f"no label for {utterance!r}; expected its name or its speaker's", path=labels)
    return Embeddings(data.vectors, data.ids, data.speakers, {**data.attributes, attribute: np.array(values)})
