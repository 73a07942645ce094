"""Result of a search: evidence of its trials, their identities, and how it was calibrated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.calibrate.rows import RowScaling
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage.evidence.plan import SearchPlan
from zeroevidence.linkage.evidence.trial_evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs.digests import array_digest
from zeroevidence.linkage.inputs.scoring import Scoring

CalibrationMethod: TypeAlias = Literal["logistic", "given"]


@dataclass(frozen=True, slots=True)
class CalibrationFacts:
    """Method by which a search was calibrated."""

    method: CalibrationMethod  # fitted to pairs of other speakers, or given by the caller
    cross_fitted: bool = False  # each speaker's trials calibrated on those of the other speakers


@dataclass(frozen=True, slots=True, eq=False)
class Identities:
    """Names of trials and people; a trial or person without a name is called by its number."""

    mated: IntArray  # row of each trial's true identity
    ids: StrArray | None = None  # of the trials
    speakers: StrArray | None = None  # of the trials
    people: StrArray | None = None  # of the enrolled, one per row

    @classmethod
    def of(cls, trial_vectors: Any, enrol_vectors: Any, mated: IntArray) -> Identities:
        """Return the names in `Embeddings`; arrays and addresses have none."""
        ids = speakers = people = None
        if isinstance(trial_vectors, Embeddings):
            ids, speakers = trial_vectors.ids, trial_vectors.speakers
        if isinstance(enrol_vectors, Embeddings):
            people = enrol_vectors.ids if enrol_vectors.speakers is None else enrol_vectors.speakers
        return cls(mated, ids, speakers, people)


# without slots, because names and digest are computed when first asked for, and kept
@dataclass(frozen=True, eq=False)
class LinkResult(TrialEvidence):
    """Evidence of a whole search with everything that an evaluation needs."""

    names: Identities
    scoring: Scoring
    ddof: int
    calibration: CalibrationFacts
    not_enrolled: int  # trials left out because their speaker is not enrolled
    data: Callable[[], str]  # computes the digest
    row_scaling: RowScaling = "standardise"

    @classmethod
    def build(
        cls,
        evidence: TrialEvidence,
        plan: SearchPlan,
        names: Identities,
        *,
        scoring: Scoring,
        calibration: CalibrationFacts,
        not_enrolled: int = 0,
        data: Callable[[], str],
    ) -> Self:
        """Return the result of a search; `data` computes its digest when asked for."""
        return cls(
            identities=evidence.identities,
            **{name: getattr(evidence, name) for name in ARRAYS},
            names=names,
            scoring=scoring,
            ddof=plan.ddof,
            calibration=calibration,
            not_enrolled=not_enrolled,
            data=data,
            row_scaling=plan.row_scaling,
        )

    @classmethod
    def of(cls, other: LinkResult) -> Self:
        """Return the same result as an instance of a subclass that adds methods."""
        return cls(**{field.name: getattr(other, field.name) for field in fields(LinkResult)})

    @cached_property
    def trial(self) -> StrArray:
        """Identifier of each trial, its number where none was given."""
        return np.arange(len(self)).astype(np.str_) if self.names.ids is None else self.names.ids

    @cached_property
    def speaker(self) -> StrArray:
        """Speaker of each trial: as the trial has it, else the name or number of its true identity."""
        names = self.names
        if names.speakers is not None:
            return names.speakers
        return names.mated.astype(np.str_) if names.people is None else names.people[names.mated]

    @cached_property
    def digest(self) -> str:
        """SHA-256 that identifies the search; the vectors must not have changed since."""
        return self.data()


def search_digest(plan: SearchPlan, names: Identities, dtype: np.dtype[Any] | None) -> str:
    """SHA-256 of vectors, names, calibration and the precision that was asked for; engines do not enter it."""
    calibrated = plan.trial.vectors, plan.enrol.vectors, plan.mated, plan.weight, plan.bias
    precision = None if dtype is None else np.array([dtype.name])
    return array_digest(*calibrated, names.ids, names.speakers, names.people, plan.threshold, precision)
