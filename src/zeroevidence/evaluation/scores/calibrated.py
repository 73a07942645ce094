"""Scores as LLRs, by a calibration that was fitted on other people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from zeroevidence.calibrate.logistic import LogisticFit, fit_logistic
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.setup import LlrSetup, digest
from zeroevidence.evaluation.search.task import check_disjoint


@dataclass(frozen=True, slots=True)
class ScoreCalibration:
    """A logistic calibration that was fitted on other data.

    Parameters
    ----------
    fit
        The map of scores to LLRs, which is increasing.
    setup
        How it was fitted.
    checked
        Whether speakers are known on both sides, so that they are known to be others.
    """

    fit: LogisticFit
    setup: LlrSetup
    checked: bool

    def as_llrs(self, data: Scores | ScoreMatrix) -> Scores | ScoreMatrix:
        """Return the same scores as LLRs (natural logarithm)."""
        if isinstance(data, ScoreMatrix):
            return data.with_scores(self.fit.llr(data.scores))
        return replace(data, target=self.fit.llr(data.target), nontarget=self.fit.llr(data.nontarget))


def fit_calibration(data: Scores | ScoreMatrix, on: Scores | ScoreMatrix | LoadedScores) -> ScoreCalibration:
    """Fit a logistic calibration for scores on those of other people.

    Raises
    ------
    InputError
        When both have speakers in common, or higher scores do not speak for targets in the data to fit on.
    """
    other = on.data if isinstance(on, LoadedScores) else on
    check_disjoint(data, other)
    pairs = other.to_scores() if isinstance(other, ScoreMatrix) else other
    fit = fit_logistic(pairs.target, pairs.nontarget)
    if fit.weight <= 0.0:
        raise InputError("calibration: higher scores do not speak for targets there; expected scores that tell people")
    setup = LlrSetup("logistic", digest([np.sort(pairs.target), np.sort(pairs.nontarget)]))
    return ScoreCalibration(fit, setup, data.speakers is not None and other.speakers is not None)
