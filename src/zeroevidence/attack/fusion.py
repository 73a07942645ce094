"""Fusion of attackers by weights that are fitted on development people, of matrices and of score files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import speaker_folds, standardise
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.comparable import check_same_trials
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.score_files import ScoreFile
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.run import Run

Systems: TypeAlias = Sequence[Scores | ScoreMatrix]  # the scores of each
_PENALTY = 1.0
_Scales: TypeAlias = Sequence[Callable[[FloatArray], FloatArray]]  # of each system


def fit_weights(
    target: FloatArray, nontarget: FloatArray, *, balanced: bool = True, penalty: float = _PENALTY
) -> FloatArray:
    """Return a weight for each of K systems, with sum 1, by logistic regression.

    Weights are not negative: a system that points the wrong way on few development people does so by chance. Where all
    do, they count alike.

    Parameters
    ----------
    target
        Targets x K, the scores of each system in units of their deviation.
    nontarget
        The same of non-targets.
    balanced
        Whether targets and non-targets count alike, so that the weights do not depend on the number of identities.
    penalty
        Times half the squared weights for each target, which draws weights of few people together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> weights = fit_weights(rng.normal([2.0, 0.0], 1.0, (60, 2)), rng.normal(size=(600, 2)))
    >>> bool(weights[0] > 0.8), round(float(weights.sum()), 12)
    (True, 1.0)
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n_systems = target.shape[1]
    features = np.concatenate((target, nontarget))
    shares = (0.5 / len(target), 0.5 / len(nontarget)) if balanced else (1.0 / len(features),) * 2
    counted = np.repeat(shares, (len(target), len(nontarget)))
    sign = np.repeat((1.0, -1.0), (len(target), len(nontarget)))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        w, b = parameters[:-1], parameters[-1]
        margin = sign * (features @ w + b)
        slope = -counted * sign * expit(-margin)
        value = float(counted @ np.logaddexp(0.0, -margin)) + 0.5 * penalty * float(w @ w) / len(target)
        return value, np.append(features.T @ slope + penalty * w / len(target), slope.sum())

    start = np.append(np.full(n_systems, 1.0 / n_systems), 0.0)
    bounds = [(0.0, None)] * n_systems + [(None, None)]
    optimum = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-13})
    weights: FloatArray = optimum.x[:-1]
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(n_systems, 1.0 / n_systems)


class Fusion:
    """A weighted sum of standardised rows, the weights fitted on development people.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mated = np.arange(60) % 6
    >>> good = rng.normal(size=(60, 6)) + 2.0 * np.eye(6)[mated]
    >>> fusion = Fusion().fit([good, rng.normal(size=(60, 6))], mated)
    >>> bool(fusion.weights_[0] > 5.0 * fusion.weights_[1])
    True
    """

    def fit(self, scores: Sequence[FloatArray], mated: IntArray) -> Self:
        """Learn weights from development scores, T x N of each attacker."""
        if not scores or any(matrix.shape != scores[0].shape for matrix in scores):
            raise InputError("expected scores of the same trials and identities from each attacker")
        x = np.stack([standardise(np.asarray(matrix, dtype=np.float64)) for matrix in scores], axis=-1)
        is_mated = np.zeros(x.shape[:2], dtype=bool)
        is_mated[np.arange(len(mated)), mated] = True
        self.weights_ = fit_weights(x[is_mated], x[~is_mated])
        return self

    def fuse(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return fused scores, T x N."""
        if not hasattr(self, "weights_"):
            raise UsageError("this fusion is not fitted: call fit on development scores first")
        if len(scores) != len(self.weights_):
            raise InputError(f"expected scores of {len(self.weights_)} attackers, got {len(scores)}")
        rows = (standardise(np.asarray(matrix, dtype=np.float64)) for matrix in scores)
        return np.asarray(sum(weight * matrix for weight, matrix in zip(self.weights_, rows, strict=True)))


def held_out_fusion(scores: Sequence[FloatArray], mated: IntArray, *, seed: int = 0) -> FloatArray:
    """Return fused development scores, each person's by weights that were fitted on the others."""
    fused = np.empty(scores[0].shape)
    everyone = np.arange(len(mated))
    for rows in speaker_folds(mated, seed=seed):
        rest = np.setdiff1d(everyone, rows)
        fitted = Fusion().fit([matrix[rest] for matrix in scores], mated[rest])
        fused[rows] = fitted.fuse([matrix[rows] for matrix in scores])
    return fused


@dataclass(frozen=True, slots=True, eq=False)
class FusedScores:
    """Fused scores of the evaluated people and, where there are any, of development people.

    Scores are on one scale for all trials, as those of a single system are, so that the measures of both compare.

    Parameters
    ----------
    scores
        Weighted sums of the scores of all systems.
    dev
        Development scores, those of each person by weights of the others, so that the calibration of a search that is
        fitted on them is not optimistic.
    calibrate
        Scores of other people to calibrate single scores on, by the weights below; None without development people.
    weights
        Weight of each system, with sum 1. Without development people they are fitted on all evaluated people, and each
        person's scores are fused by weights of the others.
    """

    scores: Scores | ScoreMatrix
    dev: Scores | ScoreMatrix | None
    calibrate: Scores | ScoreMatrix | None
    weights: tuple[float, ...]


def fuse(systems: Systems, dev: Systems = (), calibrate: Systems = (), *, seed: int = 0) -> FusedScores:
    """Fuse the scores of several systems on the same trials.

    The scores of each system are brought to mean 0 and deviation 1, which uses no labels and is one map for all trials,
    and added with the weights of logistic fusion, none of them negative. So a system that is fused with itself stays
    what it is, and scores that are calibrated on all development people are those of a logistic regression.

    Parameters
    ----------
    systems
        Scores of each system, which say who was compared with whom.
    dev
        Scores of other people by the same systems, to fit the weights on.
    calibrate
        Scores of other people by the same systems, which are to turn the fused scores into LLRs; those of `dev` unless
        given.
    seed
        Draws the folds of people.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mated = np.arange(60) % 6
    >>> good, noise = (ScoreMatrix(rng.normal(size=(60, 6)) + gap * np.eye(6)[mated], mated) for gap in (2.0, 0.0))
    >>> fused = fuse([good, noise], [good, noise])
    >>> fused.weights[0] > 0.8, round(sum(fused.weights), 12)
    (True, 1.0)
    """
    if len(systems) < 2:
        raise UsageError(f"expected at least two systems to fuse, got {len(systems)}")
    for others in (dev, calibrate):
        if others and len(others) != len(systems):
            raise UsageError(f"expected development scores of each of the {len(systems)} systems, got {len(others)}")
    evaluated = _SystemScores.of(systems, "scores")
    development = _SystemScores.of(dev, "development scores") if dev else None
    calibration = _SystemScores.of(calibrate, "calibration scores") if calibrate else development
    learned_from = evaluated if development is None else development
    scales = [_scale(data) for data in learned_from.lists]
    weights = learned_from.fit(scales)
    by_trial = learned_from.held_out_weights(scales, weights, seed)
    return FusedScores(
        evaluated.combine(scales, by_trial if development is None else weights),
        None if development is None else development.combine(scales, by_trial),
        None if calibration is None else calibration.combine(scales, weights),
        tuple(weights.tolist()),
    )


def _scale(data: Scores) -> Callable[[FloatArray], FloatArray]:
    """Return what brings scores of a system to deviations from the mean, of targets and non-targets together."""
    scores = np.concatenate((data.target, data.nontarget)).astype(np.float64)
    if not np.isfinite(scores).all():
        raise InputError("fusion needs finite scores, got infinite ones")
    mean, deviation = float(scores.mean()), float(scores.std()) or 1.0  # equal scores are only shifted
    return lambda values: (values.astype(np.float64) - mean) / deviation


@dataclass(frozen=True, slots=True, eq=False)
class _SystemScores:
    """Scores of all systems on the same trials, in the same order.

    Parameters
    ----------
    systems
        The scores of each: all of them matrices, or all of them lists.
    lists
        The same as lists.
    """

    systems: Sequence[Scores] | Sequence[ScoreMatrix]
    lists: Sequence[Scores]

    @classmethod
    def of(cls, systems: Systems, title: str) -> _SystemScores:
        """Bring the scores into one order; other trials are refused."""
        matrices = [sort_by_name(data) for data in systems if isinstance(data, ScoreMatrix)]
        lists = [sort_by_name(data.to_scores()) for data in systems]
        check_same_trials([(f"{title} of system {number}", data) for number, data in enumerate(lists, 1)])
        if len(matrices) == len(systems):
            return cls(matrices, [matrix.to_scores() for matrix in matrices])
        return cls(lists, lists)

    def fit(self, scales: _Scales, people: IntArray | None = None) -> FloatArray:
        """Return the weights of logistic fusion, fitted on all trials, or on those of some enrolled people."""
        used = np.full(len(self._people), True) if people is None else np.isin(self._people, people)
        sides = []
        for side in ("target", "nontarget"):
            pairs = used[getattr(self.lists[0], f"{side}_pairs").trial]
            columns = [scale(getattr(data, side)) for data, scale in zip(self.lists, scales, strict=True)]
            sides.append(np.column_stack(columns)[pairs])
        return fit_weights(*sides, balanced=False, penalty=0.0)

    def held_out_weights(self, scales: _Scales, weights: FloatArray, seed: int) -> FloatArray:
        """Return the weights for each trial, T x K: those of people without its own; `weights` for other trials."""
        by_trial = np.tile(weights, (len(self._people), 1))
        enrolled = np.flatnonzero(self._people >= 0)
        for fold in speaker_folds(self._people[enrolled], seed=seed):
            trials = enrolled[fold]
            by_trial[trials] = self.fit(scales, np.setdiff1d(self._people[enrolled], self._people[trials]))
        return by_trial

    def combine(self, scales: _Scales, weights: FloatArray) -> Scores | ScoreMatrix:
        """Return the weighted sum of the scores; the weights are those of all trials, or of each."""
        first = self.systems[0]

        def weighted_sum(side: str, trials: IntArray | slice) -> FloatArray:
            of_scores = np.atleast_2d(weights if weights.ndim == 1 else weights[trials])
            total = 0.0
            for data, scale, weight in zip(self.systems, scales, of_scores.T, strict=True):
                scores = scale(getattr(data, side))
                total = total + weight.reshape(-1, *(1,) * (scores.ndim - 1)) * scores
            return np.asarray(total)

        if isinstance(first, ScoreMatrix):
            return first.with_scores(weighted_sum("scores", slice(None)))
        assert first.target_pairs is not None
        assert first.nontarget_pairs is not None
        return replace(
            first,
            target=weighted_sum("target", first.target_pairs.trial),
            nontarget=weighted_sum("nontarget", first.nontarget_pairs.trial),
        )

    @property
    def _people(self) -> IntArray:
        """A number for the person of each trial that has a target: speaker, or else enrolment; -1 for other trials."""
        data = self.lists[0]
        assert data.trials is not None
        assert data.enrolments is not None
        assert data.target_pairs is not None
        names = data.enrolments
        if data.enrolment_speakers is not None:
            names = np.where(data.enrolment_speakers == "", names, data.enrolment_speakers)
        people = np.full(len(data.trials), -1)
        people[data.target_pairs.trial] = np.unique(names, return_inverse=True)[1][data.target_pairs.enrolment]
        return people


def evaluate_fused(
    files: Sequence[ScoreFile],
    reading: ReadingOptions = ReadingOptions(),
    *,
    options: Options = Options(),
    run: Run = Run(),
    prior: dict[str, float] | None = None,
) -> Evaluation:
    """Evaluate all score files as those of one attacker; a note on the row has the weights.

    Parameters
    ----------
    files
        As `score_files` finds them; with development files for all, or for none.
    reading
        As in `evaluate_files`, and so are the other arguments.
    """
    without = [file.scores for file in files if file.dev is None]
    if without and len(without) < len(files):
        raise UsageError(f"{without[0]} has no development scores; expected them for all that are fused, or for none")
    loaded = [file.read(reading) for file in files]
    dev = [file.dev.read(reading).data for file in files if file.dev is not None]
    calibrate = [file.calibrate.read(reading).data for file in files if file.calibrate is not None]
    fused = fuse([scores.data for scores in loaded], dev, calibrate, seed=run.seed)
    shared = {
        name: value for name, value in files[0].labels.items() if all(file.labels.get(name) == value for file in files)
    }
    about = files[0].about if all(file.about == files[0].about for file in files) else About()
    names = [file.labels.get("system", file.scores) for file in files]
    relaxed = tuple(replace(rule, side=name) for name, part in zip(names, loaded, strict=True) for rule in part.relaxed)
    first, labels = loaded[0], {**shared, "system": " + ".join(names)}
    scores = LoadedScores(fused.scores, first.format, first.key_format, relaxed, first.same_session)
    row = evaluate(
        scores,
        dev=fused.dev,
        calibrate=fused.calibrate,
        prior=prior,
        labels=labels,
        about=about,
        options=options,
        run=run,
    )
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, fused.weights, strict=True))
    whom = "the other evaluated people" if fused.dev is None else "development people"
    note = flag("fused", number=len(files), weights=weights, whom=whom)
    if row.setup.llr is not None:
        return row.with_flags(note)
    return row.with_flags(note, flag("scores-not-llrs", why="they are weighted sums of standardised scores"))
