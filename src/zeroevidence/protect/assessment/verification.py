"""What should go on working: speaker verification with a PLDA trained on unprotected vectors, both sides protected."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence.attack.backends.plda import Plda
from zeroevidence.data.embeddings import Embeddings, mated_rows, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.evaluation import About, Evaluation, Options, evaluate


def verification(
    train: Embeddings, sides: Mapping[str, Embeddings], options: Options, words: Mapping[str, str]
) -> Evaluation:
    """Verification of all people outside the training set: the first half of each one's vectors enrols, by name."""
    backend = Plda().fit(np.asarray(train.vectors, dtype=np.float64), require_speakers(train, "train"))
    ids = np.concatenate([side.ids for side in sides.values()])
    people = np.concatenate([require_speakers(side) for side in sides.values()])
    everyone = sort_by_name(Embeddings(np.concatenate([side.vectors for side in sides.values()]), ids, people))
    people = require_speakers(everyone)
    enrols = np.zeros(len(people), dtype=bool)
    for name in np.unique(people):
        own = np.flatnonzero(people == name)
        enrols[own[: len(own) // 2]] = True
    tried = ~enrols & np.isin(people, people[enrols])
    profiles, trial = everyone.take(enrols).profiles(), everyone.take(tried)
    matrix = ScoreMatrix(
        backend.score(np.asarray(profiles.vectors), np.asarray(trial.vectors)),
        mated_rows(trial, profiles),
        trials=trial.ids,
        enrolments=profiles.ids,
        trial_speakers=trial.speakers,
        enrolment_speakers=profiles.speakers,
    )
    # Both sides are of one kind, so that only the system tells whether they were protected.
    return evaluate(
        matrix,
        labels={**words, "split": "test", "backend": backend.name},
        about=About(role="utility"),
        options=options,
    )
