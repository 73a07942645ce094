"""Protocols that an attacker may choose: what is enrolled, what makes a trial, and among whom it is searched.

The released trials never change. An option takes fewer of the enrolled recordings, takes trials together, or changes
the scores of people who are searched. Development people choose among options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.auditing.embedding_sets import EmbeddingSets, rows_of
from zeroevidence.calibrate.rows import standardise
from zeroevidence.data.corpus import random_key
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.rows.about import Protocol, SexSource
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier
from zeroevidence.registry import Registry

NUMBERS = (1, 2, 4)  # of enrolled recordings of each person
_ATTRIBUTE = "sex"
_LEAST = 4  # training people of each sex from which a classifier learns
_SHRINKAGE = 0.3
_UNLIKELY = 0.01  # probability of another sex than the known one, and the least that a classifier gives
_WEIGHTS = (0.1, 0.25, 0.5, 1.0)  # standard deviations of a row for each nat of evidence

# of a matrix, the trials with their vectors, and the enrolled recordings, both with their attributes
ChangeScores: TypeAlias = Callable[[ScoreMatrix, Embeddings, Embeddings], ScoreMatrix]
# of trials, the logarithm of the probability of each of some sexes
SexEvidence: TypeAlias = Callable[[Embeddings, StrArray], FloatArray]


@dataclass(frozen=True, slots=True)
class ProtocolOption:
    """A protocol that differs from the usual one in one respect.

    Parameters
    ----------
    protocol
        Returns a protocol with this difference.
    sets
        Changes the enrolment, or the trials.
    scores
        Changes the scores of a search.
    """

    protocol: Callable[[Protocol], Protocol]
    sets: Callable[[EmbeddingSets], EmbeddingSets] = lambda sets: sets
    scores: ChangeScores = lambda matrix, _trials, _enrolment: matrix


@dataclass(frozen=True, slots=True)
class ProtocolChoice:
    """One respect in which an attacker may choose the protocol.

    Parameters
    ----------
    name
        Its name.
    title
        A line on what is chosen.
    options
        Options beside the usual protocol, given the training speech of the attacker and the speech that trials are of;
        none where this speech does not allow for any.
    """

    name: str
    title: str
    options: Callable[[Embeddings, EmbeddingSets], Sequence[ProtocolOption]]


PROTOCOLS: Registry[ProtocolChoice] = Registry("choice of a protocol")  # in the order in which choices are made


def recordings_of_each(part: Embeddings) -> IntArray:
    """Return how many recordings each person has."""
    _, counts = np.unique(require_speakers(part), return_counts=True)
    return counts.astype(np.int64)


def usual_protocol(sets: EmbeddingSets) -> Protocol:
    """Return the protocol of the main rows: everything that is enrolled, one recording in a trial, everybody searched.

    Parameters
    ----------
    sets
        The speech.
    """
    return Protocol(int(recordings_of_each(sets.eval_enrol).max()))


def first_recordings(part: Embeddings, number: int) -> Embeddings:
    """Return at most so many recordings of each person, drawn by their names: the same ones from all encoders."""
    names, speakers = part.ids.tolist(), require_speakers(part).tolist()
    kept: dict[str, int] = {}
    rows = []
    for row in sorted(range(len(names)), key=lambda at: random_key(names[at])):
        kept[speakers[row]] = kept.get(speakers[row], 0) + 1
        if kept[speakers[row]] <= number:
            rows.append(row)
    return part.take(np.array(sorted(rows), dtype=np.int64))


def _fewer_enrolled(_train: Embeddings, sets: EmbeddingSets) -> Sequence[ProtocolOption]:
    def option(number: int) -> ProtocolOption:
        change = partial(first_recordings, number=number)
        return ProtocolOption(partial(replace, enrolled=number), lambda sets: sets.with_enrolment(change))

    return [option(number) for number in NUMBERS if number < usual_protocol(sets).enrolled]


def pooled(part: Embeddings) -> Embeddings:
    """Return one trial for each person, the mean of the person's vectors; attributes that recordings share are kept."""
    means = part.profiles()
    speakers = require_speakers(part)
    rows = [np.flatnonzero(speakers == name) for name in means.ids.tolist()]
    attributes = {
        name: np.array([values[at[0]] if len(np.unique(values[at])) == 1 else "" for at in rows])
        for name, values in part.attributes.items()
    }
    ids = np.array([f"{name}, {len(at)} recordings" for name, at in zip(means.ids.tolist(), rows, strict=True)])
    return Embeddings(means.vectors, ids, means.speakers, attributes)


def _pooled_trials(_train: Embeddings, sets: EmbeddingSets) -> Sequence[ProtocolOption]:
    most = int(recordings_of_each(sets.eval_trial).max())
    if most < 2 or recordings_of_each(sets.dev_trial).max() < 2:
        return []
    return [ProtocolOption(partial(replace, tried=most), lambda sets: sets.with_trials(pooled))]


def _same_sex(train: Embeddings, sets: EmbeddingSets) -> Sequence[ProtocolOption]:
    """Return searches by the sex that is told and by the sex that a classifier hears, as far as labels allow.

    How far people of another sex are put back is chosen on development people, as a classifier may be wrong.
    """
    if not all(_both_sexes(part) for part in (sets.dev_enrol, sets.eval_enrol)):
        return []
    sources: dict[SexSource, SexEvidence] = {}
    if all(_is_known(part) for part in (sets.dev_trial, sets.eval_trial)):
        sources["told"] = _told_evidence
    classifier = sex_classifier(train)
    if classifier is not None:
        sources["heard"] = classifier
    return [
        ProtocolOption(partial(replace, sex=source), scores=partial(_put_back, evidence=evidence, weight=weight))
        for source, evidence in sources.items()
        for weight in _WEIGHTS
    ]


def _is_known(part: Embeddings) -> bool:
    values = part.attributes.get(_ATTRIBUTE)
    return values is not None and bool((values != "").all())


def _both_sexes(part: Embeddings) -> bool:
    return _is_known(part) and len(np.unique(part.attributes[_ATTRIBUTE])) > 1


def _told_evidence(trials: Embeddings, sexes: StrArray) -> FloatArray:
    return np.where(trials.attributes[_ATTRIBUTE][:, None] == sexes, 0.0, np.log(_UNLIKELY))


def sex_classifier(train: Embeddings) -> SexEvidence | None:
    """Return a classifier of the sex, fitted to training speech; None where too few people of each sex are known."""
    labels = train.attributes.get(_ATTRIBUTE)
    if labels is None:
        return None
    known = labels != ""
    speakers, vectors = require_speakers(train)[known], np.asarray(train.vectors[known], np.float64)
    classes, index = np.unique(labels[known], return_inverse=True)
    people = [len(np.unique(speakers[index == k])) for k in range(len(classes))]
    if len(classes) < 2 or min(people) < _LEAST:
        return None
    classifier = GaussianClassifier(shared=True, shrinkage=_SHRINKAGE)
    codes: IntArray = np.unique(speakers, return_inverse=True)[1].astype(np.int64)
    classifier.fit(vectors, index.astype(np.int64), 1.0 / np.bincount(codes)[codes], codes)

    def evidence(trials: Embeddings, sexes: StrArray) -> FloatArray:
        posteriors = classifier.log_posteriors(np.asarray(trials.vectors, np.float64))
        places = np.minimum(np.searchsorted(classes, sexes), len(classes) - 1)
        return np.maximum(np.where(np.isin(sexes, classes), posteriors[:, places], 0.0), np.log(_UNLIKELY))

    return evidence


def _put_back(
    matrix: ScoreMatrix, trials: Embeddings, enrolment: Embeddings, *, evidence: SexEvidence, weight: float
) -> ScoreMatrix:
    """Return the scores of each trial in standard deviations of its row, lower for people of an unlikely sex."""
    sex_of = dict(zip(require_speakers(enrolment).tolist(), enrolment.attributes[_ATTRIBUTE].tolist(), strict=True))
    sexes = np.array([sex_of[name] for name in matrix.enrolment_names.tolist()])
    ordered = trials.take(rows_of(trials, matrix.trial_names.tolist()))
    scores = standardise(np.asarray(matrix.scores, np.float64))
    return matrix.with_scores(scores + weight * evidence(ordered, sexes))


ENROLLED = PROTOCOLS.add(ProtocolChoice("enrolled", "how many recordings of each person are enrolled", _fewer_enrolled))
PROTOCOLS.add(ProtocolChoice("pooled", "whether recordings of one person are tried together", _pooled_trials))
PROTOCOLS.add(ProtocolChoice("sex", "whether people of the same sex are searched for", _same_sex))
