"""Scores into LLRs, by a calibration that other data were used for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.setup import LlrSetup, digest
from zeroevidence.evaluation.scores.search import check_disjoint


@dataclass(frozen=True, slots=True)
class ScoreCalibration:
    """How scores became LLRs, and whether speakers are known on both sides, so that they are known to be others."""

    setup: LlrSetup
    checked: bool


def as_llrs(loaded: LoadedScores, on: Scores | ScoreMatrix | LoadedScores) -> tuple[LoadedScores, ScoreCalibration]:
    """The same scores as LLRs (natural logarithm), by a logistic calibration that was fitted on others.

    Raises
    ------
    InputError
        When both have speakers in common, or higher scores do not speak for targets in the data to fit on.
    """
    other = on.data if isinstance(on, LoadedScores) else on
    check_disjoint(loaded.data, other)
    pairs = other.to_scores() if isinstance(other, ScoreMatrix) else other
    fit = fit_logistic(pairs.target, pairs.nontarget)
    if fit.weight <= 0.0:
        raise InputError("calibration: higher scores do not speak for targets there; expected scores that tell people")
    data = loaded.data
    if isinstance(data, ScoreMatrix):
        data = replace(data, scores=fit.llr(data.scores))
    else:
        data = replace(data, target=fit.llr(data.target), nontarget=fit.llr(data.nontarget))
    setup = LlrSetup("logistic", digest([np.sort(pairs.target), np.sort(pairs.nontarget)]))
    return replace(loaded, data=data), ScoreCalibration(
        setup, loaded.data.speakers is not None and other.speakers is not None
    )
