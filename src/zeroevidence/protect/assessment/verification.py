"""Utility: speaker verification with a PLDA trained on unprotected vectors, both sides protected."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence.attack.backends.plda import Plda
from zeroevidence.data.embeddings import Embeddings, mated_rows, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.evaluation import About, Evaluation, Options, evaluate


def verification(
    train: Embeddings, sides: Mapping[str, Embeddings], options: Options, labels: Mapping[str, str]
) -> Evaluation:
    """Return the verification of all people outside the training set; the first half of their vectors enrols."""
    backend = Plda().fit(np.asarray(train.vectors, dtype=np.float64), require_speakers(train, "train"))
    ids = np.concatenate([side.ids for side in sides.values()])
    people = np.concatenate([require_speakers(side) for side in sides.values()])
    everyone = sort_by_name(Embeddings(np.concatenate([side.vectors for side in sides.values()]), ids, people))
    people = require_speakers(everyone)
    enrolment = np.zeros(len(people), dtype=bool)
    for name in np.unique(people):
        rows = np.flatnonzero(people == name)
        enrolment[rows[: len(rows) // 2]] = True
    trials = ~enrolment & np.isin(people, people[enrolment])
    profiles, trial = everyone.take(enrolment).profiles(), everyone.take(trials)
    matrix = ScoreMatrix(
        backend.score(np.asarray(profiles.vectors), np.asarray(trial.vectors)),
        mated_rows(trial, profiles),
        trials=trial.ids,
        enrolments=profiles.ids,
        trial_speakers=trial.speakers,
        enrolment_speakers=profiles.speakers,
    )
    # Both sides are protected or neither is: the system says which.
    return evaluate(
        matrix,
        labels={**labels, "split": "test", "backend": backend.name},
        about=About(role="utility"),
        options=options,
    )
