"""One step of the ladder: fit every candidate, let development people choose one, score the evaluated people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.backends import Backend, named_scores
from zeroevidence.attack.fusion import Fusion, held_out_fusion
from zeroevidence.attack.ladder import Adapter, LadderStep
from zeroevidence.auditing.embedding_sets import EmbeddingSets, recordings_of_each
from zeroevidence.data.embeddings import Embeddings, require_speakers, row_numbers
from zeroevidence.data.matrix import FoldedScores, ScoreMatrix, closed_set_search
from zeroevidence.data.threat import Material, ThreatModel
from zeroevidence.errors import InputError
from zeroevidence.evaluation.finding.chance import EQUAL_BITS, DevelopmentResult, choose
from zeroevidence.evaluation.rows.about import AveragedLevel, Comparison, DrawUse
from zeroevidence.evaluation.searches import disclosure_with_error

Sides = Mapping[Material, EmbeddingSets]
CHOSEN = "chosen"  # label of what the development people of each fold chose, which may differ between folds


@dataclass(frozen=True, slots=True)
class FittedBackend:
    """A fitted back-end, and the number of draws of the training speech that it learned from."""

    backend: Backend
    draws: int = 1


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
        Settings among which development people chose.
    draws
        How the runs of the anonymiser were used.
    parts
        The attackers of a fusion.
    error
        Standard error of `development` over people.
    """

    step: str
    encoders: tuple[str, ...]
    backend: Backend | None
    scores: ScoreMatrix
    dev: ScoreMatrix
    development: float
    settings: int = 1
    draws: DrawUse = field(default_factory=DrawUse)
    parts: tuple[FoldResult, ...] = ()
    error: float = 0.0


def fit_candidates(step: LadderStep, sets: EmbeddingSets) -> list[FittedBackend]:
    """Return the candidates of a step, fitted to one draw of the training speech and, where there are more, to all.

    Candidates that cannot be fitted are left out.

    Raises
    ------
    InputError
        Where none can; with the reason of the first.
    """
    people, dimensions = len(sets.speakers("train")), sets.train.vectors.shape[1]
    fitted: list[FittedBackend] = []
    errors: list[InputError | np.linalg.LinAlgError] = []
    for draws in sorted({1, 1 + len(sets.draws)}):
        for backend in step.candidates(people, dimensions):
            try:
                fitted.append(FittedBackend(backend.fit(*sets.training(draws)), draws))
            except (InputError, np.linalg.LinAlgError) as error:
                errors.append(error)
    if errors and not fitted:
        raise errors[0]
    return fitted


def run_step(
    model: ThreatModel, step: str, encoder: str, sides: Sides, candidates: Sequence[FittedBackend]
) -> FoldResult:
    """Return the result of the candidate and the draws of the enrolment to which development people disclose most."""
    dev_enrol, dev_trial = (sides[side] for side in model.development)
    enrol = sides[model.enrolment]
    most = 1 + min(len(dev_enrol.draws), len(enrol.draws))
    # how many draws of the enrolment are averaged, and at which level; the first choice costs least
    levels: list[tuple[int, AveragedLevel | None]] = [(1, None)]
    levels += [(most, "embeddings"), (most, "scores")] if most > 1 else []
    several = recordings_of_each(dev_enrol.dev_enrol).max() > 1
    uses = list(product(candidates, levels, get_args(Comparison) if several else ("mean",)))
    best: FoldResult | None = None
    for fitted, (draws, level), compared in uses:
        use = DrawUse(training=fitted.draws, enrolment=draws, level=level, compared=compared)
        dev = score_trials(fitted.backend, dev_enrol.part_draws("dev_enrol"), dev_trial.dev_trial, use)
        bits, error = disclosure_and_error(dev)
        if best is None or bits > best.development + EQUAL_BITS:
            enrolled = enrol.part_draws("eval_enrol")
            scores = score_trials(fitted.backend, enrolled, sides[model.trial].eval_trial, use)
            best = FoldResult(step, (encoder,), fitted.backend, scores, dev, bits, len(uses), use, error=error)
    if best is None:
        raise InputError(f"{step}: has no candidates")
    return best


def fuse(results: Sequence[FoldResult], *, seed: int = 0) -> FoldResult:
    """Fuse attackers of one threat model: the strongest step of each encoder, or all steps of the only encoder.

    No encoder is left out: where several attackers find all of the few development people, a choice among them would be
    chance. Weights, which are shrunk and not negative, do not depend on such a choice.
    """
    strongest: dict[tuple[str, ...], FoldResult] = {}
    for result in results:
        other = strongest.get(result.encoders)
        if other is None or result.development > other.development + EQUAL_BITS:
            strongest[result.encoders] = result
    parts = [result for result in results if len(strongest) == 1 or result is strongest[result.encoders]]
    return replace(fuse_parts(parts, seed=seed), settings=sum(result.settings for result in results))


def fuse_parts(parts: Sequence[FoldResult], *, seed: int = 0) -> FoldResult:
    """Fuse attackers of one threat model, with weights that are fitted on development people.

    Those of no weight are not parts of the result.
    """
    dev, scores = (_in_one_order([getattr(part, name) for part in parts]) for name in ("dev", "scores"))
    mated = parts[0].dev.mated
    enrolled = np.flatnonzero(mated >= 0)
    learned_from = [matrix[enrolled] for matrix in dev]
    fusion = Fusion().fit(learned_from, mated[enrolled])
    used = [part for part, weight in zip(parts, fusion.weights_, strict=True) if weight > 0.0]
    held_out = held_out_fusion(learned_from, mated[enrolled], seed=seed)
    bits, error = disclosure_and_error(parts[0].dev.take(enrolled).with_scores(held_out))
    encoders = tuple(dict.fromkeys(name for part in used for name in part.encoders))
    fused, fused_dev = parts[0].scores.with_scores(fusion.fuse(scores)), parts[0].dev.with_scores(fusion.fuse(dev))
    settings = sum(part.settings for part in parts)
    draws = DrawUse.together([part.draws for part in used])
    return FoldResult("fusion", encoders, None, fused, fused_dev, bits, settings, draws, tuple(used), error)


def _in_one_order(matrices: Sequence[ScoreMatrix]) -> list[FloatArray]:
    """Return scores in the order of rows and columns of the first matrix."""
    trials, enrolments = matrices[0].trial_names, matrices[0].enrolment_names
    return [
        each.scores[row_numbers(each.trial_names, trials)][:, row_numbers(each.enrolment_names, enrolments)]
        for each in matrices
    ]


def disclosure(matrix: ScoreMatrix) -> float:
    """Return the average disclosure of the people of some scores to a search, in bits."""
    return disclosure_and_error(matrix)[0]


def disclosure_and_error(matrix: ScoreMatrix) -> tuple[float, float]:
    """Return the average disclosure of development people to a search, in bits, and its standard error over people."""
    rows, _ = closed_set_search(matrix)
    if rows is None or len(np.unique(rows.mated)) < 2:
        raise InputError("development people do not form a search; expected at least two enrolled people with trials")
    return disclosure_with_error(rows)


def adapt(sides: Sides, adapter: Adapter) -> dict[Material, EmbeddingSets]:
    """Return anonymised speech after an adapter network that was trained on it."""
    fitted = adapter.fit(*sides["anonymised"].training())
    return {"anonymised": sides["anonymised"].mapped(lambda part: fitted.transform(part.vectors))}


def score_trials(backend: Backend, enrolments: Sequence[Embeddings], trial: Embeddings, use: DrawUse) -> ScoreMatrix:
    """Return the scores of every trial against every enrolled speaker.

    Parameters
    ----------
    backend
        The fitted back-end.
    enrolments
        The enrolled recordings, in one draw of the anonymiser or more.
    trial
        The trials.
    use
        How many of these draws are used, what is averaged over them, and whether the mean over a person's recordings
        is compared or the closest of them counts.
    """
    drawn = enrolments[: use.enrolment]
    profiles = drawn[0].profiles()
    tried = np.asarray(trial.vectors, np.float64)
    rounds = [[draw.profiles().vectors for draw in drawn]]
    if use.compared == "closest":
        rounds = [[draw.vectors[rows] for draw in drawn] for rows in _recording_rounds(drawn[0], profiles)]
    scores = np.full((len(trial), len(profiles)), -np.inf)
    for compared in rounds:
        vectors = [np.asarray(part, np.float64) for part in compared]
        vectors = vectors if use.level == "scores" else [np.mean(vectors, axis=0)]
        np.maximum(scores, np.mean([backend.score(each, tried) for each in vectors], axis=0), out=scores)
    return named_scores(scores, trial, profiles)


def _recording_rounds(enrolled: Embeddings, profiles: Embeddings) -> IntArray:
    """Return the rows of everybody's first recording, second and so on; who has fewer is there with the last again."""
    speakers = require_speakers(enrolled)
    rows = [np.flatnonzero(speakers == name) for name in profiles.ids]
    return np.array([[each[min(k, len(each) - 1)] for each in rows] for k in range(max(map(len, rows)))])


@dataclass(frozen=True, slots=True)
class FailedAttack:
    """An attack that could not be carried out.

    Parameters
    ----------
    attacker
        Name of the threat model.
    encoder
        The encoder.
    step
        The step of the ladder.
    reason
        Why.
    """

    attacker: str
    encoder: str
    step: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class AttackResult:
    """One attacker in each fold of people, or in a single one without cross-validation.

    Parameters
    ----------
    folds
        The result in each fold.
    step
        The step of the ladder, ``fusion`` or ``chosen``.
    scores
        Scores of all evaluated people; those of several folds contain their development scores too.
    settings
        Settings among which development people chose.
    seconds
        How long it took.
    """

    folds: tuple[FoldResult, ...]
    step: str
    scores: ScoreMatrix | FoldedScores
    settings: int
    seconds: float = 0.0

    @classmethod
    def of(cls, folds: Sequence[FoldResult], step: str | None = None) -> AttackResult:
        """Return the results of folds as one attacker."""
        scores: ScoreMatrix | FoldedScores = folds[0].scores
        if len(folds) > 1:
            scores = FoldedScores.from_folds([fold.scores for fold in folds], [fold.dev for fold in folds])
        return cls(tuple(folds), step or folds[0].step, scores, max(fold.settings for fold in folds))

    @property
    def dev(self) -> ScoreMatrix | None:
        """Scores of development people, where there is one fold."""
        return self.folds[0].dev if len(self.folds) == 1 else None

    @property
    def encoders(self) -> tuple[str, ...]:
        """Encoders that some fold used."""
        return tuple(dict.fromkeys(name for fold in self.folds for name in fold.encoders))

    @property
    def encoder(self) -> str:
        """The encoders, joined by a plus sign."""
        return "+".join(self.encoders)

    @property
    def development(self) -> float:
        """Disclosure of development people in bits, averaged over folds."""
        return float(np.mean([fold.development for fold in self.folds]))

    @property
    def error(self) -> float:
        """Standard error of `development` over people, who are the same in every split."""
        return float(np.sqrt(self.splits * np.sum([fold.error**2 for fold in self.folds])) / len(self.folds))

    @property
    def splits(self) -> int:
        """How often people were dealt to folds."""
        return self.scores.splits if isinstance(self.scores, FoldedScores) else 1


def choose_per_fold(attackers: Sequence[AttackResult]) -> AttackResult | None:
    """Return the attacker of each fold that its development people choose; None where all are the same.

    The development people of one fold are evaluated in another, so an attacker that is chosen by the mean over folds is
    chosen by the evaluated people too. This one is not.
    """
    folds = zip(*(attacker.folds for attacker in attackers), strict=True)
    best = [
        choose([DevelopmentResult(part.development, part.error, bool(part.parts)) for part in parts]) for parts in folds
    ]
    if len(set(best)) == 1:
        return None
    result = AttackResult.of([attackers[i].folds[fold] for fold, i in enumerate(best)], CHOSEN)
    return replace(result, settings=max(attacker.settings for attacker in attackers))
