"""The result of a search that knows whose trials these are, so that an evaluation can be made from it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage.evidence.plan import SearchPlan
from zeroevidence.linkage.evidence.trial_evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs.digests import array_digest
from zeroevidence.linkage.inputs.scoring import Scoring

CalibrationMethod: TypeAlias = Literal["logistic", "given"]


@dataclass(frozen=True, slots=True)
class CalibrationFacts:
    """How the calibration of a search came about."""

    method: CalibrationMethod  # fitted to pairs of other speakers, or given by the caller
    cross_fitted: bool = False  # each speaker's trials calibrated on those of the other speakers


@dataclass(frozen=True, slots=True, eq=False)
class Identities:
    """Whose trials these are; what is not known has its number for a name."""

    mated: IntArray  # row of each trial's true identity
    ids: StrArray | None = None  # of the trials
    speakers: StrArray | None = None  # of the trials
    people: StrArray | None = None  # of the enrolled, one per row

    @classmethod
    def known(cls, trial_vectors: Any, enrol_vectors: Any, mated: IntArray) -> Identities:
        """What `Embeddings` say; of arrays and addresses nothing is known."""
        ids = speakers = people = None
        if isinstance(trial_vectors, Embeddings):
            ids, speakers = trial_vectors.ids, trial_vectors.speakers
        if isinstance(enrol_vectors, Embeddings):
            people = enrol_vectors.ids if enrol_vectors.speakers is None else enrol_vectors.speakers
        return cls(mated, ids, speakers, people)

    def trial(self) -> StrArray:
        """Identifier of each trial."""
        return np.arange(len(self.mated)).astype(np.str_) if self.ids is None else self.ids

    def speaker(self) -> StrArray:
        """Person of each trial: as the trial has it, else as the enrolment names its true identity."""
        if self.speakers is not None:
            return self.speakers
        return self.mated.astype(np.str_) if self.people is None else self.people[self.mated]


# without slots, because names and digest are worked out when first asked for, and kept
@dataclass(frozen=True, eq=False)
class LinkResult(TrialEvidence):
    """Evidence of a whole search with everything that an evaluation has to know about it."""

    who: Identities
    scoring: Scoring
    ddof: int
    calibration: CalibrationFacts
    not_enrolled: int  # trials left out because their speaker is not enrolled
    data: Callable[[], str]  # works out the digest

    @classmethod
    def build(
        cls,
        found: TrialEvidence,
        plan: SearchPlan,
        who: Identities,
        *,
        scoring: Scoring,
        calibration: CalibrationFacts,
        not_enrolled: int = 0,
        data: Callable[[], str] | None = None,
    ) -> Self:
        """A result with its search; the digest is of vectors, names and calibration unless `data` gives another."""
        return cls(
            identities=found.identities,
            **{name: getattr(found, name) for name in ARRAYS},
            who=who,
            scoring=scoring,
            ddof=plan.ddof,
            calibration=calibration,
            not_enrolled=not_enrolled,
            data=data or partial(_search_digest, plan, who),
        )

    @classmethod
    def of(cls, other: LinkResult) -> Self:
        """The same result in another class, one that adds methods."""
        return cls(**{one.name: getattr(other, one.name) for one in fields(LinkResult)})

    @cached_property
    def trial(self) -> StrArray:
        """Identifier of each trial, its number where none was given."""
        return self.who.trial()

    @cached_property
    def speaker(self) -> StrArray:
        """Person of each trial, the number of its true identity where no name was given."""
        return self.who.speaker()

    @cached_property
    def digest(self) -> str:
        """SHA-256 by which the search is known again; the vectors must still be what they were."""
        return self.data()


def _search_digest(plan: SearchPlan, who: Identities) -> str:
    return array_digest(
        plan.trial.vectors, plan.enrol.vectors, plan.mated, plan.weight, plan.bias, who.ids, who.speakers, who.people
    )
