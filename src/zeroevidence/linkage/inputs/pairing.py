"""Pairing of trials with the enrolled: the row of each trial's speaker among the enrolment vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, mated_rows
from zeroevidence.data.files.errors import naming_file
from zeroevidence.errors import InputError
from zeroevidence.linkage.inputs.scoring import Scoring


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Trials and enrolment of a search."""

    trial: Embeddings  # of people who are enrolled
    enrol: Embeddings  # one vector per person
    mated: IntArray  # for each trial the row of its speaker in `enrol`
    not_enrolled: int = 0  # trials left out, because their speaker is not enrolled

    @property
    def people(self) -> StrArray:
        """Names of the enrolled, in the order of their vectors."""
        return self.enrol.ids if self.enrol.speakers is None else self.enrol.speakers


def pair(trial: Embeddings, enrol: Embeddings, *, scoring: Scoring = "cosine") -> Pairing:
    """Find the speaker of each trial among the enrolled; trials of other speakers are left out.

    Parameters
    ----------
    trial
        Embeddings of the trials, with speakers.
    enrol
        Embeddings of the enrolled. A person with several vectors is represented by their mean, for ``cosine`` after
        each was brought to length one. Without speakers each identifier is a person.
    scoring
        Scoring of the search.

    Examples
    --------
    >>> enrol = Embeddings([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]], speakers=["ada", "bob", "bob"])
    >>> trial = Embeddings([[0.1, 0.9], [0.5, 0.5]], ids=["u1", "u2"], speakers=["bob", "eve"])
    >>> search = pair(trial, enrol, scoring="dot")
    >>> search.trial.ids.tolist(), search.mated.tolist(), search.enrol.vectors.tolist(), search.not_enrolled
    (['u1'], [1], [[1.0, 0.0], [0.0, 2.0]], 1)
    """
    if trial.speakers is None:
        raise InputError("trials without speakers; expected the speaker of each, in the file, beside it or in a list")
    enrol = one_per_person(enrol, scoring=scoring)
    mated = mated_rows(trial, enrol)
    enrolled = np.flatnonzero(mated >= 0)
    if not len(enrolled):
        raise InputError("no trial has its speaker among the enrolled")
    left_out = len(trial) - len(enrolled)
    return Pairing(trial.take(enrolled) if left_out else trial, enrol, mated[enrolled], left_out)


def one_per_person(enrol: Embeddings, *, scoring: Scoring) -> Embeddings:
    """Return one vector per enrolled person."""
    if enrol.speakers is None:
        return Embeddings(enrol.vectors, enrol.ids, enrol.ids)
    if len(set(enrol.speakers.tolist())) == len(enrol):  # many times faster than sorting names
        return enrol
    return enrol.profiles(cosine=scoring == "cosine")


def read_pairing(
    trial: str | Path,
    enrol: str | Path,
    *,
    trial_ids: str | Path | None = None,
    enrol_ids: str | Path | None = None,
    scoring: Scoring = "cosine",
) -> Pairing:
    """Pair two files of embeddings; `trial_ids` and `enrol_ids` list `utterance speaker` for files without speakers."""
    # the readers of files need more than NumPy
    from zeroevidence.data.formats.vectors.read import read_embeddings

    trials, enrolled = read_embeddings(trial, ids=trial_ids), read_embeddings(enrol, ids=enrol_ids)
    with naming_file(enrol):
        enrolled = one_per_person(enrolled, scoring=scoring)
    with naming_file(trial):
        return pair(trials, enrolled, scoring=scoring)


def check_other_people(search: Pairing, development: Pairing) -> None:
    """Refuse a calibration on people who are searched for."""
    common = np.intersect1d(search.people, development.people)
    if len(common):
        raise InputError(
            f"development and evaluation share {len(common)} speaker(s), among them {str(common[0])!r}; "
            "expected other people in the development embeddings"
        )
