"""Engine `rows`: whole rows of scores in double precision, a few at a time, for any scoring function.

Where the scoring is not a dot product, mean and deviation of a row need a first pass over its scores, and everything
else a second, both over rows that are in memory.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.linkage.engines.engine import EngineSettings, LocalEngine, Requirements, register
from zeroevidence.linkage.evidence.moments import EnrolmentMoments
from zeroevidence.linkage.evidence.plan import SearchPlan
from zeroevidence.linkage.evidence.row_terms import calibrated_slope, check_range, removed_level
from zeroevidence.linkage.evidence.score_rows import centred, score_rows
from zeroevidence.linkage.evidence.trial_evidence import LN2, TrialEvidence
from zeroevidence.linkage.inputs.vectors import VectorSet


class WholeRowLinker:
    """Computes runs of trials of one search with any scoring."""

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan

    def rows(self, rows: IntArray) -> TrialEvidence:
        """Return the evidence of some trials."""
        return TrialEvidence.join([self._block(rows[part], scores) for part, scores in score_rows(self.plan, rows)])

    @np.errstate(over="ignore", invalid="ignore")
    def _block(self, rows: IntArray, scores: FloatArray) -> TrialEvidence:
        plan = self.plan
        index, mated = np.arange(len(rows)), plan.mated[rows]
        score = scores[index, mated]
        greater = (scores > score[:, None]).sum(axis=1)
        equal = (scores == score[:, None]).sum(axis=1) - 1
        top = scores.argmax(axis=1)
        fires = np.full(len(rows), -1)
        if plan.threshold is not None:
            fires = (scores > plan.threshold[rows][:, None]).sum(axis=1)
        scores[index, mated] = -np.inf
        best = scores.max(axis=1)
        scores[index, mated] = score
        mean, deviation = centred(scores, plan.ddof)
        slope = calibrated_slope(plan, plan.weight[rows], deviation)
        scores *= slope[:, None]
        high = scores.max(axis=1)
        log_sum = high + np.log(np.exp(scores - high[:, None]).sum(axis=1))
        lid = np.where(slope == 0.0, 0.0, (scores[index, mated] - log_sum + np.log(plan.identities)) / LN2)
        log_sum += plan.bias[rows] + removed_level(plan, slope, mean)
        evidence = TrialEvidence(
            plan.identities, score, mean, deviation, log_sum, lid, greater, equal, best, top, fires
        )
        return check_range(plan, rows, evidence)


@register
class WholeRowEngine(LocalEngine):
    """Every score of a row at once; slow, and takes any scoring function."""

    name = "rows"
    precisions = ("float64",)
    sums = np.float64
    functions = True

    def priority(self, requirements: Requirements) -> int:
        """Return a priority above NumPy's for scoring functions."""
        return 20 if requirements.function else 0

    def moments(self, enrol: VectorSet, settings: EngineSettings) -> EnrolmentMoments | None:  # noqa: ARG002
        """Return None: mean and deviation follow from the scores."""
        return None

    def linker(self, plan: SearchPlan, settings: EngineSettings) -> WholeRowLinker:  # noqa: ARG002
        """Return the linker of one search."""
        return WholeRowLinker(plan)
