"""Scores of whole searches, of one set of people or of several folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.scores import (
    Pairs,
    Scores,
    as_array,
    check_scores,
    compose_names,
    distinct_speakers,
    frozen,
    owned,
    pool_scores,
)
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMatrix:
    """Scores of T trials (rows) against N enrolled identities (columns), validated and read-only.

    Parameters
    ----------
    scores
        T x N, higher meaning more alike.
    mated
        For each trial the column of its true identity, -1 where that person is not enrolled.
    trials
        Identifiers of the rows.
    enrolments
        Identifiers of the columns.
    trial_speakers
        The speaker of each row, "" where unknown.
    enrolment_speakers
        The speaker of each column, "" where unknown.
    spellings
        Names beyond ASCII as they were written; those that are given are added.

    Examples
    --------
    >>> ScoreMatrix([[0.9, 0.1], [0.2, 0.7], [0.8, 0.3]], mated=[0, 1, 0])
    ScoreMatrix(3 trials x 2 identities)
    """

    scores: FloatArray
    mated: IntArray
    trials: StrArray | None = None
    enrolments: StrArray | None = None
    trial_speakers: StrArray | None = None
    enrolment_speakers: StrArray | None = None
    spellings: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", owned(check_scores(self.scores, "scores", ndim=2)))
        rows, columns = self.scores.shape
        mated = as_array(self.mated, "mated")
        if mated.shape != (rows,) or not np.issubdtype(mated.dtype, np.integer):
            content = f"{mated.dtype} {mated.shape}"
            raise InputError(f"mated: expected {rows} whole numbers, one column per trial, got {content}")
        outside = np.flatnonzero((mated < -1) | (mated >= columns))
        if len(outside):
            wrong = f"trial {outside[0]} names column {mated[outside[0]]}"
            raise InputError(f"mated: {wrong}; expected 0 to {columns - 1}, or -1 for not enrolled")
        object.__setattr__(self, "mated", frozen(mated.astype(np.int64)))
        for name in ("trials", "trial_speakers", "enrolments", "enrolment_speakers"):
            if getattr(self, name) is None:
                continue
            ids = np.asarray(getattr(self, name), dtype=np.str_)
            length = rows if name.startswith("trial") else columns
            if ids.shape != (length,):
                raise InputError(f"{name}: expected {length} identifiers, got shape {ids.shape}")
            ids, written = compose_names(ids)
            object.__setattr__(self, "spellings", self.spellings | written)
            values, counts = np.unique(ids if name in ("trials", "enrolments") else ids[:0], return_counts=True)
            if (counts > 1).any():
                at = int((counts > 1).argmax())
                raise InputError(f"{name}: {str(values[at])!r} occurs {counts[at]} times; expected once")
            object.__setattr__(self, name, owned(ids))

    def __repr__(self) -> str:
        return f"ScoreMatrix({self.scores.shape[0]} trials x {self.scores.shape[1]} identities)"

    def to_scores(self) -> Scores:
        """Return the same scores as two classes: the mated entry of each row, and all others."""
        mask = np.zeros(self.scores.shape, dtype=bool)
        enrolled = np.flatnonzero(self.mated >= 0)
        mated = self.mated[enrolled]
        mask[enrolled, mated] = True
        other_trial, other_enrolment = np.nonzero(~mask)
        pairs = Pairs(mated, enrolled), Pairs(other_enrolment, other_trial)
        names = self.enrolment_names, self.trial_names, self.enrolment_speakers, self.trial_speakers
        return Scores(self.scores[enrolled, mated], self.scores[~mask], *pairs, *names)

    @property
    def trial_names(self) -> StrArray:
        """Identifiers of the rows, their numbers where none were given."""
        return _ids(self.trials, len(self.mated))

    @property
    def enrolment_names(self) -> StrArray:
        """Identifiers of the columns, their numbers where none were given."""
        return _ids(self.enrolments, self.scores.shape[1])

    @property
    def mated_names(self) -> StrArray:
        """For each trial the speaker (or else the identifier) of its mated column, "" where not enrolled."""
        return np.where(self.mated >= 0, column_speakers(self)[self.mated], "")

    @property
    def speakers(self) -> StrArray | None:
        """Distinct known speakers on either side, None where speakers are unknown."""
        return distinct_speakers(self.enrolment_speakers, self.trial_speakers)

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The matrix as a single search; `FoldedScores` has several."""
        return (self,)

    @property
    def exchanged(self) -> ExchangedPeople:
        """Who may be exchanged with whom: everybody with everybody."""
        everybody = np.arange(self.scores.shape[1])
        return ExchangedPeople((everybody,), (everybody,))

    def with_scores(self, scores: FloatArray) -> ScoreMatrix:
        """Return the matrix with other scores of the same comparisons."""
        return replace(self, scores=scores)

    def take(self, rows: IntArray) -> ScoreMatrix:
        """Return the same search for some of the trials."""
        if len(rows) == len(self.mated):
            return self
        trials, speakers = (None if names is None else names[rows] for names in (self.trials, self.trial_speakers))
        return replace(self, scores=self.scores[rows], mated=self.mated[rows], trials=trials, trial_speakers=speakers)


def closed_set_search(scores: Scores | ScoreMatrix) -> tuple[ScoreMatrix | None, dict[str, int]]:
    """Return the closed-set search that scores describe, and how many trials were left out of it and why.

    Trials that were not compared with every enrolment are ``incomplete``; those whose speaker is not enrolled are
    ``not_enrolled``. The search is None when the scores do not form rows: the compared identifiers are unknown, fewer
    than half of all pairs were compared, fewer than two identities are enrolled, or a trial has more than one true
    identity.
    """
    left_out: dict[str, int] = {}
    if isinstance(scores, ScoreMatrix):
        matrix = scores
        people = np.array([""]) if matrix.enrolment_speakers is None else matrix.enrolment_speakers
        names, counts = np.unique(people, return_counts=True)
        twice = names[(counts > 1) & (names != "")]
        if len(twice):
            raise InputError(f"speaker {str(twice[0])!r} is enrolled more than once; expected one column per person")
    else:
        built = complete_rows(scores)
        if built is None:
            return None, {}
        matrix, incomplete = built
        if incomplete:
            left_out["incomplete"] = incomplete
    enrolled = np.flatnonzero(matrix.mated >= 0)
    if len(enrolled) < len(matrix.mated):
        left_out["not_enrolled"] = len(matrix.mated) - len(enrolled)
    if len(enrolled) == 0 or matrix.scores.shape[1] < 2:
        return None, {}
    return matrix.take(enrolled), left_out


def complete_rows(scores: Scores) -> tuple[ScoreMatrix, int] | None:
    """Return scores as trials against enrolments, complete rows only, and the number of incomplete ones."""
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        return None
    assert scores.trials is not None
    assert scores.enrolments is not None
    shape = len(scores.trials), len(scores.enrolments)
    if shape[1] < 2 or 2 * len(scores) < shape[0] * shape[1]:
        return None
    if np.bincount(scores.target_pairs.trial).max() > 1:
        return None
    table = np.full(shape, np.nan)
    mated = np.full(shape[0], -1)
    for pairs, values in ((scores.target_pairs, scores.target), (scores.nontarget_pairs, scores.nontarget)):
        table[pairs.trial, pairs.enrolment] = values
    mated[scores.target_pairs.trial] = scores.target_pairs.enrolment
    complete = np.flatnonzero(~np.isnan(table).any(axis=1))
    if len(complete) == 0:
        return None
    speakers = None if scores.trial_speakers is None else scores.trial_speakers[complete], scores.enrolment_speakers
    matrix = ScoreMatrix(
        frozen(table[complete]), mated[complete], scores.trials[complete], scores.enrolments, *speakers
    )
    return matrix, shape[0] - len(complete)


def _ids(ids: StrArray | None, count: int) -> StrArray:
    return np.arange(count).astype(np.str_) if ids is None else ids


@dataclass(frozen=True, slots=True, eq=False)
class ExchangedPeople:
    """Who may be exchanged with whom in searches that may share people.

    Parameters
    ----------
    blocks
        People, as numbers, who may be exchanged.
    columns
        For each search the person of each column.
    development
        The same for its development people, where an exchange within blocks is one among these; otherwise empty.
    """

    blocks: tuple[IntArray, ...]
    columns: tuple[IntArray, ...]
    development: tuple[IntArray, ...] = ()

    def draw(self, rng: np.random.Generator) -> tuple[list[IntArray], list[IntArray]]:
        """Return a permutation of the columns of each search, and of those of its development people."""
        other = np.empty(1 + max(int(block.max()) for block in self.blocks), dtype=np.int64)
        for block in self.blocks:
            other[block] = block[rng.permutation(len(block))]
        return [_places(other, people) for people in self.columns], [
            _places(other, people) for people in self.development
        ]


def _places(other: IntArray, people: IntArray) -> IntArray:
    """Return the column of the person that the person of each column is exchanged with."""
    place = np.empty(len(other), dtype=np.int64)
    place[people] = np.arange(len(people))
    return place[other[people]]


@dataclass(frozen=True, slots=True, eq=False)
class FoldedScores:
    """Scores of every fold of speakers on one scale, with those of the development speakers of each fold.

    Every speaker is evaluated in one fold, by an attacker who learned from speakers of the others; where people were
    dealt to folds repeatedly, in one fold of each split. Each trial is searched among as many identities as the
    smallest fold has: in larger folds its speaker and those that follow in the order of names. `from_folds` brings the
    folds to one scale.

    Parameters
    ----------
    parts
        For each fold, split by split, its trials against its speakers.
    dev
        For each fold those of development speakers, by the same attacker.

    Examples
    --------
    >>> first, second = (
    ...     ScoreMatrix([[2.0, 0.0], [0.5, 1.0]], [0, 1], people, people, people, people)
    ...     for people in (["ann", "bob"], ["cyd", "dan"])
    ... )
    >>> FoldedScores.from_folds([first, second], [second, first])
    FoldedScores(2 folds, 4 trials x 2 identities)
    """

    parts: tuple[ScoreMatrix, ...]
    dev: tuple[ScoreMatrix, ...]

    @classmethod
    def from_folds(cls, parts: Sequence[ScoreMatrix], dev: Sequence[ScoreMatrix]) -> FoldedScores:
        """Return the folds on one scale: scores less the mean of their fold, divided by its standard deviation.

        Attackers that learned from different speakers score on different scales. This changes no order within a fold,
        uses no labels, and is sharper than a scale from few development speakers.

        Parameters
        ----------
        parts
            The scores of each fold.
        dev
            The scores of its development speakers, which are scaled like those of the fold.
        """
        of_folds = [part.scores.astype(np.float64) for part in parts]
        scales = [(scores.mean(), scores.std() or 1.0) for scores in of_folds]
        return cls(*(tuple(map(_scaled, side, scales)) for side in (parts, dev)))

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.dev) or len(self.parts) < 2:
            raise InputError(f"{len(self.parts)} folds, {len(self.dev)} of development; expected as many, at least two")
        for number, part in enumerate(self.parts, 1):
            if part.enrolment_speakers is None or part.trial_speakers is None or part.scores.shape[1] < 2:
                raise InputError(f"fold {number}: expected two people or more, and to know who they are")
        people, times = np.unique(self.people, return_counts=True)
        if (times != times[0]).any():
            uneven = str(people[times != times[0]][0])
            raise InputError(f"person {uneven!r} is in more or fewer folds than others; expected one in each split")
        trials, times = np.unique(self.trials, return_counts=True)
        if (times > self.splits).any():
            repeated = str(trials[times > self.splits][0])
            raise InputError(f"trial {repeated!r} is in two folds of a split; expected each in one")

    def __repr__(self) -> str:
        splits = f" in {self.splits} splits" if self.splits > 1 else ""
        folds = f"{len(self.parts)} folds{splits}"
        return f"FoldedScores({folds}, {len(self.trials)} trials x {self.identities} identities)"

    @property
    def splits(self) -> int:
        """How often people were dealt to folds."""
        return int(np.unique(self.people, return_counts=True)[1][0])

    @property
    def exchanged(self) -> ExchangedPeople:
        """Who may be exchanged with whom, which is an exchange in every fold that they are in."""
        names = np.unique(self.people)
        columns = tuple(np.searchsorted(names, column_speakers(part)) for part in self.parts)
        places = np.zeros((len(names), len(columns)), dtype=bool)
        for place, people in enumerate(columns):
            places[people, place] = True
        blocks: dict[bytes, list[int]] = {}
        for person in dict.fromkeys(np.concatenate(columns).tolist()):  # fold by fold
            blocks.setdefault(places[person].tobytes(), []).append(person)
        others = [column_speakers(part) for part in self.dev]
        whole = all(
            np.isin(names[block], people).sum() in (0, len(block)) for block in blocks.values() for people in others
        )
        among = whole and all(np.isin(people, names).all() for people in others)
        development = tuple(np.searchsorted(names, people) for people in others) if among else ()
        return ExchangedPeople(tuple(map(np.array, blocks.values())), columns, development)

    @property
    def people(self) -> StrArray:
        """The enrolled speakers, fold by fold."""
        return np.concatenate([column_speakers(part) for part in self.parts])

    @property
    def trials(self) -> StrArray:
        """Identifiers of the trials, fold by fold."""
        return np.concatenate([part.trial_names for part in self.parts])

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many speakers each fold has."""
        return tuple(part.scores.shape[1] for part in self.parts)

    @property
    def identities(self) -> int:
        """Among how many identities each trial is searched."""
        return min(self.sizes)

    def candidates(self, fold: int) -> IntArray:
        """Return for each speaker of a fold the columns that the trials are compared with, the mated one first."""
        order = np.argsort(column_speakers(self.parts[fold]), kind="stable")
        columns = np.empty((len(order), self.identities), dtype=np.int64)
        circle = np.arange(len(order))[:, None] + np.arange(self.identities)
        columns[order] = order[circle % len(order)]
        return columns

    def enrolled_trials(self) -> tuple[FoldedScores, int]:
        """Return the trials of enrolled speakers, and how many others there were."""
        sides = (map(closed_set_search, side) for side in (self.parts, self.dev))
        parts, dev = (tuple(part for part, _ in side if part is not None) for side in sides)
        if len(parts) < len(self.parts) or len(dev) < len(self.dev):
            raise InputError("a fold has no trial of an enrolled person")
        return FoldedScores(parts, dev), len(self.trials) - sum(len(part.mated) for part in parts)

    def to_scores(self) -> Scores:
        """Return all comparisons of all folds as two classes; those of several splits recur."""
        return pool_scores([part.to_scores() for part in self.parts])


def column_speakers(part: ScoreMatrix) -> StrArray:
    """Return the speaker of each column of a fold."""
    return part.enrolment_names if part.enrolment_speakers is None else part.enrolment_speakers


def _scaled(matrix: ScoreMatrix, scale: tuple[float, float]) -> ScoreMatrix:
    mean, deviation = scale
    return matrix.with_scores((matrix.scores.astype(np.float64) - mean) / deviation)
