"""Fusion of the scores of several systems on the same trials: other back-ends, encoders or modalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.fusion.weights import Fusion, held_out_fusion
from zeroevidence.data.matrix import ScoreMatrix, closed_set_search
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.reading.score_files import Reading, ScoreFile
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.scores.evaluate import evaluate
from zeroevidence.uncertainty.resampling.draws import Progress


@dataclass(frozen=True, slots=True, eq=False)
class FusedScores:
    """Fused scores of the evaluated people and, where there are any, of development people.

    Parameters
    ----------
    scores
        Weighted sums of standardised rows.
    dev
        Development scores, those of each person by weights of the others, so that a calibration that is fitted on them
        is not optimistic.
    weights
        Weight of each system, with sum 1. Without development people they are fitted on all evaluated people, and each
        person's scores are fused by weights of the others.
    """

    scores: ScoreMatrix
    dev: ScoreMatrix | None
    weights: tuple[float, ...]


def fuse(
    systems: Sequence[Scores | ScoreMatrix], dev: Sequence[Scores | ScoreMatrix] = (), *, seed: int = 0
) -> FusedScores:
    """Fuse the scores of several systems on the same trials and identities.

    Parameters
    ----------
    systems
        Scores of each system; each trial was compared with every identity.
    dev
        Scores of other people by the same systems, to fit the weights on.
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
    if dev and len(dev) != len(systems):
        raise UsageError(f"expected development scores of each of the {len(systems)} systems, got {len(dev)}")
    evaluated = _align(systems, "scores")
    trials = [matrix.scores for matrix in evaluated]
    if not dev:
        mated = evaluated[0].mated
        held_out = held_out_fusion(trials, mated, seed=seed)
        return FusedScores(evaluated[0].with_scores(held_out), None, _shares(Fusion().fit(trials, mated).weights_))
    development = _align(dev, "development scores")
    dev_trials, mated = [matrix.scores for matrix in development], development[0].mated
    fusion = Fusion().fit(dev_trials, mated)
    return FusedScores(
        evaluated[0].with_scores(fusion.fuse(trials)),
        development[0].with_scores(held_out_fusion(dev_trials, mated, seed=seed)),
        _shares(fusion.weights_),
    )


def evaluate_fused(
    files: Sequence[ScoreFile],
    reading: Reading | None = None,
    *,
    options: Options | None = None,
    prior: dict[str, float] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate all score files as those of one attacker; a note on the row has the weights.

    Parameters
    ----------
    files
        As `score_files` finds them; with development files for all, or for none.
    reading
        As in `evaluate_files`, and so are the other arguments.
    """
    reading, options = reading or Reading(), options or Options()
    without = [file.scores for file in files if file.dev is None]
    if without and len(without) < len(files):
        raise UsageError(f"{without[0]} has no development scores; expected them for all that are fused, or for none")
    loaded = [reading.read(file) for file in files]
    dev = [reading.read(file.dev).data for file in files if file.dev is not None]
    fused = fuse([scores.data for scores in loaded], dev, seed=options.seed)
    shared = {
        name: value for name, value in files[0].labels.items() if all(file.labels.get(name) == value for file in files)
    }
    about = files[0].about if all(file.about == files[0].about for file in files) else About()
    names = [file.labels.get("system", file.scores) for file in files]
    row = evaluate(
        fused.scores,
        dev=fused.dev,
        prior=prior,
        labels={**shared, "system": " + ".join(names)},
        about=about,
        options=options,
        relaxed=tuple(dict.fromkeys(rule for one in loaded for rule in one.relaxed)),
        workers=workers,
        progress=progress,
    )
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, fused.weights, strict=True))
    whom = "the other evaluated people" if fused.dev is None else "development people"
    return row.with_flags(flag("fused", number=len(files), weights=weights, whom=whom))


def _align(systems: Sequence[Scores | ScoreMatrix], title: str) -> list[ScoreMatrix]:
    """Return the rows of each system, with trials and identities in the same order."""
    matrices = []
    for number, data in enumerate(systems, 1):
        rows, _ = closed_set_search(sort_by_name(data))
        if rows is None:
            raise InputError(
                f"{title} of system {number} do not form rows: expected each trial against every enrolment"
            )
        matrices.append(rows)
    first = matrices[0]
    for number, matrix in enumerate(matrices[1:], 2):
        for side, names, other_names in (
            ("trial", first.trial_names, matrix.trial_names),
            ("identity", first.enrolment_names, matrix.enrolment_names),
        ):
            different = np.setxor1d(names, other_names)
            if len(different) or len(names) != len(other_names):
                example = f", among them {str(different[0])!r}" if len(different) else ""
                raise InputError(
                    f"{title} of systems 1 and {number} differ in {len(different)} {side} name(s){example}; expected "
                    "the same trials and identities"
                )
        if not np.array_equal(first.mated, matrix.mated):
            raise InputError(f"{title} of systems 1 and {number} disagree on who spoke")
    return matrices


def _shares(weights: FloatArray) -> tuple[float, ...]:
    total = float(weights.sum())
    return tuple((weights / total).tolist()) if total > 0.0 else (1.0 / len(weights),) * len(weights)
