"""One threat model up the ladder: fit every candidate, let development people choose, score the evaluated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.adapter import Adapter
from zeroevidence.attack.backends import Backend
from zeroevidence.attack.ladder import Fusion, Rung, held_out_fusion
from zeroevidence.auditing.sets import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, mated_rows, speaker_names
from zeroevidence.data.matrix import ScoreMatrix, searchable
from zeroevidence.data.threat import Material, ThreatModel
from zeroevidence.errors import InputError
from zeroevidence.evaluation.search import average_disclosure

Sides = Mapping[Material, EmbeddingSets]


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One attacker that was carried out.

    Parameters
    ----------
    step
        The step of the ladder, or ``fusion``.
    encoder
        The encoder; several joined by a plus where they were fused.
    backend
        The fitted back-end that development people chose; None for a fusion.
    scores, dev
        Scores of the evaluated and of the development people.
    development
        What development people disclosed, in bits.
    """

    step: str
    encoder: str
    backend: Backend | None
    scores: ScoreMatrix
    dev: ScoreMatrix
    development: float


def fit_candidates(step: Rung, training: Embeddings) -> list[Backend]:
    """Every candidate of a step, fitted to the training people."""
    x, speakers = doubles(training), speaker_names(training)
    return [one.fit(x, speakers) for one in step.candidates(len(np.unique(speakers)), x.shape[1])]


def climb(model: ThreatModel, step: str, encoder: str, sides: Sides, candidates: Sequence[Backend]) -> Attempt:
    """The candidate of one step to which development people disclose most."""
    best: Attempt | None = None
    for fitted in candidates:
        dev_enrol, dev_trial = (sides[side] for side in model.development)
        dev = scored(fitted, dev_enrol.dev_enrol, dev_trial.dev_trial)
        bits = disclosed(dev)
        if best is None or bits > best.development:
            scores = scored(fitted, sides[model.enrolment].eval_enrol, sides[model.trial].eval_trial)
            best = Attempt(step, encoder, fitted, scores, dev, bits)
    if best is None:
        raise InputError(f"{step}: has no candidates")
    return best


def fuse(attempts: Sequence[Attempt], *, seed: int = 0) -> Attempt:
    """All attackers of one threat model together, weighed by development people."""
    orders = [_aligned(one.dev, attempts[0].dev) for one in attempts]
    dev_scores = [one.dev.scores[rows][:, columns] for one, (rows, columns) in zip(attempts, orders, strict=True)]
    orders = [_aligned(one.scores, attempts[0].scores) for one in attempts]
    scores = [one.scores.scores[rows][:, columns] for one, (rows, columns) in zip(attempts, orders, strict=True)]
    mated = attempts[0].dev.mated
    kept = np.flatnonzero(mated >= 0)
    fusion = Fusion().fit([one[kept] for one in dev_scores], mated[kept])
    held_out = held_out_fusion([one[kept] for one in dev_scores], mated[kept], seed=seed)
    encoders = "+".join(dict.fromkeys(one.encoder for one in attempts))
    return Attempt(
        "fusion",
        encoders,
        None,
        _with(attempts[0].scores, fusion.fuse(scores)),
        _with(attempts[0].dev, fusion.fuse(dev_scores)),
        disclosed(_with(attempts[0].dev.take(kept), held_out)),
    )


def _aligned(matrix: ScoreMatrix, like: ScoreMatrix) -> tuple[IntArray, IntArray]:
    """Rows and columns of a matrix in the order of another one."""
    found = []
    for here, there in ((matrix.trial_names, like.trial_names), (matrix.enrolment_names, like.enrolment_names)):
        order = np.argsort(here)
        found.append(order[np.searchsorted(here, there, sorter=order)].astype(np.int64))
    return found[0], found[1]


def _with(matrix: ScoreMatrix, scores: FloatArray) -> ScoreMatrix:
    return ScoreMatrix(
        scores,
        matrix.mated,
        trials=matrix.trials,
        enrolments=matrix.enrolments,
        trial_speakers=matrix.trial_speakers,
        enrolment_speakers=matrix.enrolment_speakers,
    )


def disclosed(matrix: ScoreMatrix) -> float:
    """What the people of some scores disclose to a search, in bits."""
    rows, _ = searchable(matrix)
    if rows is None or len(np.unique(rows.mated)) < 2:
        raise InputError("development people do not form a search; expected at least two enrolled people with trials")
    return average_disclosure(rows)


def adapted(sides: Sides, adapter: Adapter) -> dict[Material, EmbeddingSets]:
    """Anonymised speech after a network that was trained on it."""
    train = sides["anonymised"].train
    fitted = adapter.fit(doubles(train), speaker_names(train))
    return {"anonymised": sides["anonymised"].mapped(lambda part: fitted.transform(part.vectors))}


def scored(backend: Backend, enrol: Embeddings, trial: Embeddings) -> ScoreMatrix:
    """Every trial against every enrolled speaker's mean vector."""
    profiles = enrol.profiles()
    return ScoreMatrix(
        backend.score(doubles(profiles), doubles(trial)),
        mated_rows(trial, profiles),
        trials=trial.ids,
        enrolments=profiles.ids,
        trial_speakers=trial.speakers,
        enrolment_speakers=profiles.speakers,
    )


def doubles(embeddings: Embeddings) -> FloatArray:
    """Vectors in double precision."""
    return np.asarray(embeddings.vectors, dtype=np.float64)
