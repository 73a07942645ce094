"""A search for people of the same sex: people of another sex than the trial's speaker are put back.

The attacker is told the sex of each trial's speaker, or hears it: a classifier that learned from the attacker's
training speech. How far people are put back is chosen on development people: a sex that is heard may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.protocols.protocol_choice import PROTOCOLS, ProtocolChoice, ProtocolOption
from zeroevidence.calibrate.rows import standardise
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.rows.about import Protocol, SexSource
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier

_ATTRIBUTE = "sex"
_LEAST = 4  # training people of each sex, to learn what it sounds like
_SHRINKAGE = 0.3
_UNLIKELY = 0.01  # probability of another sex than the one that was told, and the least of one that was heard
_WEIGHTS = (0.1, 0.25, 0.5, 1.0)  # deviations of a row for each nat of evidence

# of trials, the logarithm of the probability of each of some sexes
SexEvidence = Callable[[Embeddings, StrArray], FloatArray]


def _options(train: Embeddings, sets: EmbeddingSets) -> Sequence[ProtocolOption]:
    """Return a search by the sex that is told and by the sex that is heard, as far as the labels allow for each."""
    parts = sets.parts()
    if not all(_both_sexes(parts[name]) for name in ("dev_enrol", "eval_enrol")):
        return []
    sources: dict[SexSource, SexEvidence] = {}
    if all(_is_known(parts[name]) for name in ("dev_trial", "eval_trial")):
        sources["told"] = told_evidence
    heard = hearing(train)
    if heard is not None:
        sources["heard"] = heard
    return [
        ProtocolOption(partial(_by_sex, source=source), scores=partial(put_back, evidence=evidence, weight=weight))
        for source, evidence in sources.items()
        for weight in _WEIGHTS
    ]


def _by_sex(protocol: Protocol, source: SexSource) -> Protocol:
    return replace(protocol, sex=source)


def _is_known(part: Embeddings) -> bool:
    values = part.attributes.get(_ATTRIBUTE)
    return values is not None and bool((values != "").all())


def _both_sexes(part: Embeddings) -> bool:
    return _is_known(part) and len(np.unique(part.attributes[_ATTRIBUTE])) > 1


def told_evidence(trials: Embeddings, sexes: StrArray) -> FloatArray:
    """Return the evidence of the attribute itself."""
    return np.where(trials.attributes[_ATTRIBUTE][:, None] == sexes, 0.0, np.log(_UNLIKELY))


def hearing(train: Embeddings) -> SexEvidence | None:
    """Return what hears the sex, learned from training speech; None where too few people of each sex are known."""
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
        places = np.searchsorted(classes, sexes)
        heard = np.isin(sexes, classes)
        chosen = posteriors[:, np.minimum(places, len(classes) - 1)]
        return np.maximum(np.where(heard, chosen, 0.0), np.log(_UNLIKELY))

    return evidence


def put_back(
    matrix: ScoreMatrix, trials: Embeddings, enrolment: Embeddings, *, evidence: SexEvidence, weight: float
) -> ScoreMatrix:
    """Return the scores of each trial in deviations of its row, and lower for people of another sex.

    Parameters
    ----------
    matrix
        The scores.
    trials
        The trials, with their attributes.
    enrolment
        The enrolled recordings, with their attributes.
    evidence
        What is known of the sex of a trial's speaker.
    weight
        How far people are put back.
    """
    sex_of = dict(zip(require_speakers(enrolment).tolist(), enrolment.attributes[_ATTRIBUTE].tolist(), strict=True))
    sexes = np.array([sex_of[name] for name in matrix.enrolment_names.tolist()])
    place = {name: at for at, name in enumerate(trials.ids.tolist())}
    ordered = trials.take(np.array([place[name] for name in matrix.trial_names.tolist()]))
    scores = standardise(np.asarray(matrix.scores, np.float64))
    return matrix.with_scores(scores + weight * evidence(ordered, sexes))


PROTOCOLS.add(ProtocolChoice("sex", "whether people of the same sex are searched for", 30, _options))
