"""One attacker who has the scores of several systems: other back-ends, encoders or modalities of the same trials."""

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
    """FusedScores scores of the evaluated people and, where there are any, of development people.

    Parameters
    ----------
    scores, dev
        Weighted sums of standardised rows. The development scores of a person are by weights of the others, so that a
        calibration that is fitted on them is not flattered.
    weights
        Of each system, their sum being 1. Without development people those of everybody; each person's scores were
        then fused by weights that were fitted on the others.
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
    >>> found = fuse([good, noise], [good, noise])
    >>> found.weights[0] > 0.8, round(sum(found.weights), 12)
    (True, 1.0)
    """
    if len(systems) < 2:
        raise UsageError(f"expected at least two systems to fuse, got {len(systems)}")
    if dev and len(dev) != len(systems):
        raise UsageError(f"expected development scores of each of the {len(systems)} systems, got {len(dev)}")
    here, there = _aligned(systems, "scores"), _aligned(dev, "development scores") if dev else []
    trials = [one.scores for one in here]
    if not there:
        fused = held_out_fusion(trials, here[0].mated, seed=seed)
        return FusedScores(here[0].with_scores(fused), None, _shares(Fusion().fit(trials, here[0].mated).weights_))
    others, mated = [one.scores for one in there], there[0].mated
    fusion = Fusion().fit(others, mated)
    return FusedScores(
        here[0].with_scores(fusion.fuse(trials)),
        there[0].with_scores(held_out_fusion(others, mated, seed=seed)),
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
    reading, options, prior, workers, progress
        As in `evaluate_files`.
    """
    how, options = reading or Reading(), options or Options()
    without = [one.scores for one in files if one.dev is None]
    if without and len(without) < len(files):
        raise UsageError(f"{without[0]} has no development scores; expected them for all that are fused, or for none")
    loaded = [how.read(one) for one in files]
    dev = [how.read(one.dev).data for one in files if one.dev is not None]
    found = fuse([one.data for one in loaded], dev, seed=options.seed)
    shared = {
        name: value for name, value in files[0].labels.items() if all(one.labels.get(name) == value for one in files)
    }
    about = files[0].about if all(one.about == files[0].about for one in files) else About()
    names = [one.labels.get("system", one.scores) for one in files]
    row = evaluate(
        found.scores,
        dev=found.dev,
        prior=prior,
        labels={**shared, "system": " + ".join(names)},
        about=about,
        options=options,
        loosened=tuple(dict.fromkeys(rule for one in loaded for rule in one.loosened)),
        workers=workers,
        progress=progress,
    )
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, found.weights, strict=True))
    whom = "the other evaluated people" if found.dev is None else "development people"
    return row.with_flags(flag("fused", number=len(files), weights=weights, whom=whom))


def _aligned(systems: Sequence[Scores | ScoreMatrix], what: str) -> list[ScoreMatrix]:
    """The rows of each system, trials and identities in the same order."""
    found = []
    for number, data in enumerate(systems, 1):
        rows, _ = closed_set_search(sort_by_name(data))
        if rows is None:
            raise InputError(f"{what} of system {number} do not form rows: expected each trial against every enrolment")
        found.append(rows)
    first = found[0]
    for number, one in enumerate(found[1:], 2):
        for side, names, others in (
            ("trial", first.trial_names, one.trial_names),
            ("identity", first.enrolment_names, one.enrolment_names),
        ):
            different = np.setxor1d(names, others)
            if len(different) or len(names) != len(others):
                example = f", among them {str(different[0])!r}" if len(different) else ""
                raise InputError(
                    f"{what} of systems 1 and {number} differ in {len(different)} {side} name(s){example}; expected "
                    "the same trials and identities"
                )
        if not np.array_equal(first.mated, one.mated):
            raise InputError(f"{what} of systems 1 and {number} disagree on who spoke")
    return found


def _shares(weights: FloatArray) -> tuple[float, ...]:
    total = float(weights.sum())
    return tuple((weights / total).tolist()) if total > 0.0 else (1.0 / len(weights),) * len(weights)
