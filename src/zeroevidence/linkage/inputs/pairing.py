"""Embeddings of trials and of the enrolled, put together: who is searched for, and where that person stands."""

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
    """Both sides of a search, ready to be linked."""

    trial: Embeddings  # of people who are enrolled
    enrol: Embeddings  # one vector per person
    mated: IntArray  # for each trial the row of its speaker in `enrol`
    not_enrolled: int = 0  # trials left out, because their speaker is not enrolled

    @property
    def people(self) -> StrArray:
        """The enrolled, in the order of their vectors."""
        return self.enrol.ids if self.enrol.speakers is None else self.enrol.speakers


def pair(trial: Embeddings, enrol: Embeddings, *, scoring: Scoring = "cosine") -> Pairing:
    """Find the speaker of each trial among the enrolled; trials of anybody else are left out.

    Parameters
    ----------
    trial
        With speakers.
    enrol
        One person or many vectors each. Of several vectors of a person the mean is taken, for ``cosine`` of vectors
        that were brought to length one first. Without speakers each identifier is a person.
    scoring
        With which the search will be done.

    Examples
    --------
    >>> enrol = Embeddings([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]], speakers=["ada", "bob", "bob"])
    >>> trial = Embeddings([[0.1, 0.9], [0.5, 0.5]], ids=["u1", "u2"], speakers=["bob", "eve"])
    >>> found = pair(trial, enrol, scoring="dot")
    >>> found.trial.ids.tolist(), found.mated.tolist(), found.enrol.vectors.tolist(), found.not_enrolled
    (['u1'], [1], [[1.0, 0.0], [0.0, 2.0]], 1)
    """
    if trial.speakers is None:
        raise InputError("speakers are not known; expected whose each trial is, in the file, beside it or in a list")
    enrol = one_each(enrol, scoring=scoring)
    mated = mated_rows(trial, enrol)
    kept = np.flatnonzero(mated >= 0)
    if not len(kept):
        raise InputError("no trial has its speaker among the enrolled")
    left_out = len(trial) - len(kept)
    return Pairing(trial.take(kept) if left_out else trial, enrol, mated[kept], left_out)


def one_each(enrol: Embeddings, *, scoring: Scoring) -> Embeddings:
    """One vector per enrolled person."""
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
    """`pair` of two files of embeddings; `trial_ids` and `enrol_ids` list `utterance speaker` where a file does not."""
    # the readers of files need more than NumPy
    from zeroevidence.data.formats.vectors.read import read_embeddings

    trials, enrolled = read_embeddings(trial, ids=trial_ids), read_embeddings(enrol, ids=enrol_ids)
    with naming_file(enrol):
        enrolled = one_each(enrolled, scoring=scoring)
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
