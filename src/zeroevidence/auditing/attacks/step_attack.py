"""One threat model up the ladder: fit every candidate, let development people choose, score the evaluated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.backends.backend import Backend
from zeroevidence.attack.fusion.weights import Fusion, held_out_fusion
from zeroevidence.attack.ladder.adapter import Adapter
from zeroevidence.attack.ladder.ladder import LadderStep
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, mated_rows, require_speakers
from zeroevidence.data.matrix import ScoreMatrix, closed_set_search
from zeroevidence.data.threat import Material, ThreatModel
from zeroevidence.errors import InputError
from zeroevidence.evaluation.scores.search import average_disclosure

Sides = Mapping[Material, EmbeddingSets]
_GAIN = 0.01  # bits of development people that a further attacker must bring to a fusion


@dataclass(frozen=True, slots=True, eq=False)
class FoldResult:
    """One attacker that was carried out.

    Parameters
    ----------
    step
        The step of the ladder, or ``fusion``.
    encoders
        The encoder; several where they were fused.
    backend
        The fitted back-end that development people chose; None for a fusion.
    scores, dev
        Scores of the evaluated and of the development people.
    development
        What development people disclosed, in bits.
    settings
        Back-ends among which development people chose.
    """

    step: str
    encoders: tuple[str, ...]
    backend: Backend | None
    scores: ScoreMatrix
    dev: ScoreMatrix
    development: float
    settings: int = 1


def fit_candidates(step: LadderStep, training: Embeddings) -> list[Backend]:
    """Every candidate of a step, fitted to the training people."""
    x, speakers = doubles(training), require_speakers(training)
    return [one.fit(x, speakers) for one in step.candidates(len(np.unique(speakers)), x.shape[1])]


def climb(model: ThreatModel, step: str, encoder: str, sides: Sides, candidates: Sequence[Backend]) -> FoldResult:
    """The candidate of one step to which development people disclose most."""
    best: FoldResult | None = None
    for fitted in candidates:
        dev_enrol, dev_trial = (sides[side] for side in model.development)
        dev = scored(fitted, dev_enrol.dev_enrol, dev_trial.dev_trial)
        bits = disclosed(dev)
        if best is None or bits > best.development:
            scores = scored(fitted, sides[model.enrolment].eval_enrol, sides[model.trial].eval_trial)
            best = FoldResult(step, (encoder,), fitted, scores, dev, bits, len(candidates))
    if best is None:
        raise InputError(f"{step}: has no candidates")
    return best


def fuse(attempts: Sequence[FoldResult], *, seed: int = 0) -> FoldResult:
    """Attackers of one threat model together, chosen and weighed by development people.

    It starts from the two that together learn most, and takes in one more as long as development people disclose more
    to weights that were fitted on others of them.
    """
    dev = _in_one_order([one.dev for one in attempts])
    mated = attempts[0].dev.mated
    kept = np.flatnonzero(mated >= 0)
    rows = attempts[0].dev.take(kept)

    def tried(some: Sequence[int]) -> float:
        held_out = held_out_fusion([dev[i][kept] for i in some], mated[kept], seed=seed)
        return disclosed(rows.with_scores(held_out))

    chosen = [max(range(len(attempts)), key=lambda i: attempts[i].development)]
    best = -np.inf
    while rest := [i for i in range(len(attempts)) if i not in chosen]:
        bits, found = max((tried([*chosen, i]), -i) for i in rest)
        if bits < best + _GAIN:
            break
        best, chosen = bits, [*chosen, -found]
    chosen.sort()
    fusion = Fusion().fit([dev[i][kept] for i in chosen], mated[kept])
    scores = _in_one_order([one.scores for one in attempts])
    return FoldResult(
        "fusion",
        tuple(dict.fromkeys(name for i in chosen for name in attempts[i].encoders)),
        None,
        attempts[0].scores.with_scores(fusion.fuse([scores[i] for i in chosen])),
        attempts[0].dev.with_scores(fusion.fuse([dev[i] for i in chosen])),
        best,
        sum(one.settings for one in attempts),
    )


def _in_one_order(matrices: Sequence[ScoreMatrix]) -> list[FloatArray]:
    orders = [_aligned(one, matrices[0]) for one in matrices]
    return [one.scores[rows][:, columns] for one, (rows, columns) in zip(matrices, orders, strict=True)]


def _aligned(matrix: ScoreMatrix, like: ScoreMatrix) -> tuple[IntArray, IntArray]:
    """Rows and columns of a matrix in the order of another one."""
    found = []
    for here, there in ((matrix.trial_names, like.trial_names), (matrix.enrolment_names, like.enrolment_names)):
        order = np.argsort(here)
        found.append(order[np.searchsorted(here, there, sorter=order)].astype(np.int64))
    return found[0], found[1]


def disclosed(matrix: ScoreMatrix) -> float:
    """What the people of some scores disclose to a search, in bits."""
    rows, _ = closed_set_search(matrix)
    if rows is None or len(np.unique(rows.mated)) < 2:
        raise InputError("development people do not form a search; expected at least two enrolled people with trials")
    return average_disclosure(rows)


def adapted(sides: Sides, adapter: Adapter) -> dict[Material, EmbeddingSets]:
    """Anonymised speech after a network that was trained on it."""
    train = sides["anonymised"].train
    fitted = adapter.fit(doubles(train), require_speakers(train))
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
