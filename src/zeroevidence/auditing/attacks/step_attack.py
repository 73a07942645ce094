"""One step of the ladder: fit every candidate, let development people choose one, score the evaluated people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.attack.backends.backend import Backend
from zeroevidence.attack.fusion.weights import Fusion, held_out_fusion
from zeroevidence.attack.ladder.adapter import Adapter
from zeroevidence.attack.ladder.ladder import LadderStep
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, mated_rows, require_speakers
from zeroevidence.data.matrix import ScoreMatrix, closed_set_search
from zeroevidence.data.threat import Material, ThreatModel
from zeroevidence.errors import InputError
from zeroevidence.evaluation.search.matrix_search import average_disclosure

Sides = Mapping[Material, EmbeddingSets]
_GAIN = 0.01  # bits of development people that a further attacker must bring to a fusion


@dataclass(frozen=True, slots=True, eq=False)
class FoldResult:
    """The result of one attacker in one fold of people.

    Parameters
    ----------
    step
        The step of the ladder, or ``fusion``.
    encoders
        The encoder; several where they were fused.
    backend
        The fitted back-end that development people chose; None for a fusion.
    scores
        Scores of the evaluated people.
    dev
        Scores of the development people.
    development
        Disclosure of development people, in bits.
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
    """Return the candidates of a step that can be fitted to the training people.

    Raises
    ------
    InputError
        Where none can; with the reason of the first.
    """
    x, speakers = as_doubles(training), require_speakers(training)
    fitted: list[Backend] = []
    errors: list[InputError | np.linalg.LinAlgError] = []
    for backend in step.candidates(len(np.unique(speakers)), x.shape[1]):
        try:
            fitted.append(backend.fit(x, speakers))
        except (InputError, np.linalg.LinAlgError) as error:
            errors.append(error)
    if errors and not fitted:
        raise errors[0]
    return fitted


def run_step(model: ThreatModel, step: str, encoder: str, sides: Sides, candidates: Sequence[Backend]) -> FoldResult:
    """Return the result of the candidate to which development people disclose most."""
    best: FoldResult | None = None
    for fitted in candidates:
        dev_enrol, dev_trial = (sides[side] for side in model.development)
        dev = score_trials(fitted, dev_enrol.dev_enrol, dev_trial.dev_trial)
        bits = disclosure(dev)
        if best is None or bits > best.development:
            scores = score_trials(fitted, sides[model.enrolment].eval_enrol, sides[model.trial].eval_trial)
            best = FoldResult(step, (encoder,), fitted, scores, dev, bits, len(candidates))
    if best is None:
        raise InputError(f"{step}: has no candidates")
    return best


def fuse(results: Sequence[FoldResult], *, seed: int = 0) -> FoldResult:
    """Fuse attackers of one threat model, which development people choose and weigh.

    It starts from the two that together learn most, and adds one more as long as development people disclose more to
    weights that were fitted on others of them.
    """
    dev = _in_one_order([result.dev for result in results])
    mated = results[0].dev.mated
    enrolled = np.flatnonzero(mated >= 0)
    rows = results[0].dev.take(enrolled)

    def held_out_bits(numbers: Sequence[int]) -> float:
        scores = held_out_fusion([dev[i][enrolled] for i in numbers], mated[enrolled], seed=seed)
        return disclosure(rows.with_scores(scores))

    chosen = [max(range(len(results)), key=lambda i: results[i].development)]
    best = -np.inf
    while rest := [i for i in range(len(results)) if i not in chosen]:
        bits, minus_i = max((held_out_bits([*chosen, i]), -i) for i in rest)
        if bits < best + _GAIN:
            break
        best, chosen = bits, [*chosen, -minus_i]
    chosen.sort()
    fusion = Fusion().fit([dev[i][enrolled] for i in chosen], mated[enrolled])
    scores = _in_one_order([result.scores for result in results])
    return FoldResult(
        "fusion",
        tuple(dict.fromkeys(name for i in chosen for name in results[i].encoders)),
        None,
        results[0].scores.with_scores(fusion.fuse([scores[i] for i in chosen])),
        results[0].dev.with_scores(fusion.fuse([dev[i] for i in chosen])),
        best,
        sum(result.settings for result in results),
    )


def _in_one_order(matrices: Sequence[ScoreMatrix]) -> list[FloatArray]:
    orders = [_order_like(matrix, matrices[0]) for matrix in matrices]
    return [matrix.scores[rows][:, columns] for matrix, (rows, columns) in zip(matrices, orders, strict=True)]


def _order_like(matrix: ScoreMatrix, other: ScoreMatrix) -> tuple[IntArray, IntArray]:
    """Return the rows and columns of a matrix in the order of another one."""

    def places(names: StrArray, ordered: StrArray) -> IntArray:
        order = np.argsort(names)
        return order[np.searchsorted(names, ordered, sorter=order)].astype(np.int64)

    return places(matrix.trial_names, other.trial_names), places(matrix.enrolment_names, other.enrolment_names)


def disclosure(matrix: ScoreMatrix) -> float:
    """Return the average disclosure of the people of some scores to a search, in bits."""
    rows, _ = closed_set_search(matrix)
    if rows is None or len(np.unique(rows.mated)) < 2:
        raise InputError("development people do not form a search; expected at least two enrolled people with trials")
    return average_disclosure(rows)


def adapt(sides: Sides, adapter: Adapter) -> dict[Material, EmbeddingSets]:
    """Return anonymised speech after an adapter network that was trained on it."""
    train = sides["anonymised"].train
    fitted = adapter.fit(as_doubles(train), require_speakers(train))
    return {"anonymised": sides["anonymised"].mapped(lambda part: fitted.transform(part.vectors))}


def score_trials(backend: Backend, enrol: Embeddings, trial: Embeddings) -> ScoreMatrix:
    """Return the scores of every trial against every enrolled speaker's mean vector."""
    profiles = enrol.profiles()
    return ScoreMatrix(
        backend.score(as_doubles(profiles), as_doubles(trial)),
        mated_rows(trial, profiles),
        trials=trial.ids,
        enrolments=profiles.ids,
        trial_speakers=trial.speakers,
        enrolment_speakers=profiles.speakers,
    )


def as_doubles(embeddings: Embeddings) -> FloatArray:
    """Return vectors in double precision."""
    return np.asarray(embeddings.vectors, dtype=np.float64)
