"""Protocols that an attacker may choose, and the strongest attacker under each that development people choose."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.auditing import step_attack
from zeroevidence.auditing.attack_plan import AttackPlan, AttackRows
from zeroevidence.auditing.embedding_sets import EmbeddingSets, LearningCurve, recordings_of_each, rows_of
from zeroevidence.auditing.step_attack import AttackResult, FoldResult, Sides
from zeroevidence.calibrate.rows import standardise
from zeroevidence.data.corpus import random_key
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.threat import ThreatModel
from zeroevidence.evaluation.rows.about import Protocol, SexSource
from zeroevidence.parallel import compute_each
from zeroevidence.protect.assessment.classifiers.estimators import GaussianClassifier
from zeroevidence.registry import Registry
from zeroevidence.run import Run

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

    return [option(number) for number in NUMBERS if number < sets.most_enrolled]


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
    for part in (sets.dev_enrol, sets.eval_enrol):
        if not _is_known(part) or len(np.unique(part.attributes[_ATTRIBUTE])) < 2:
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


def _told_evidence(trials: Embeddings, sexes: StrArray) -> FloatArray:
    return np.where(trials.attributes[_ATTRIBUTE][:, None] == sexes, 0.0, np.log(_UNLIKELY))


def sex_classifier(train: Embeddings) -> SexEvidence | None:
    """Return a classifier of the sex, fitted to training speech; None where too few people of each sex are known."""
    labels = train.attributes.get(_ATTRIBUTE)
    if labels is None:
        return None
    labelled = labels != ""
    speakers, vectors = require_speakers(train)[labelled], np.asarray(train.vectors[labelled], np.float64)
    classes, index = np.unique(labels[labelled], return_inverse=True)
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
FoldOptions = tuple[ProtocolOption, ...]  # the same option in each fold of people


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attack with some options, and how long it took."""

    options: tuple[FoldOptions, ...]
    result: AttackResult

    def protocol(self, usual: Protocol) -> Protocol:
        """Return the protocol, the most that is enrolled and tried in any fold."""
        protocol = usual
        for each in self.options:
            changed = [option.protocol(protocol) for option in each]
            protocol = max(changed, key=lambda protocol: (protocol.enrolled, protocol.tried))
        return protocol


@dataclass(frozen=True, slots=True)
class _ProtocolAttack:
    """The strongest attacker, to be tried with options: all that other processes need."""

    model: ThreatModel
    result: AttackResult
    people: tuple[Sides, ...]  # in each fold, the speech by the first encoder
    compared: tuple[dict[tuple[str, str], Sides], ...]  # and what each part compares, by encoder and step
    seed: int

    @classmethod
    def of(cls, plan: AttackPlan, model: ThreatModel, result: AttackResult) -> _ProtocolAttack:
        """Return an attacker of a plan, without the speech that it does not compare."""
        compared = tuple(
            {(part.encoders[0], part.step): plan.compared(number, model, part) for part in fold.parts or (fold,)}
            for number, fold in enumerate(result.folds)
        )
        people = tuple(encoders[0].sides() for encoders in plan.folds)
        return cls(model, result, people, compared, plan.run.seed)

    def options(self, choice: ProtocolChoice) -> list[FoldOptions]:
        """Return the options of a choice that all folds of people allow for."""
        folds = [choice.options(sides[self.model.training].train, sides[self.model.trial]) for sides in self.people]
        sources = {tuple(option.protocol(Protocol(1)).sex for option in options) for options in folds}
        return list(zip(*folds, strict=True)) if len(sources) == 1 else []

    def attempts(self, options: Sequence[tuple[FoldOptions, ...]], run: Run) -> list[_Attempt]:
        """Return the attack with each of these options."""
        return list(map(_Attempt, options, compute_each(self._attempt, options, run, little=True)))

    def _attempt(self, options: tuple[FoldOptions, ...]) -> AttackResult:
        started = time.perf_counter()
        folds = [
            self._fold(number, fold, [each[number] for each in options])
            for number, fold in enumerate(self.result.folds)
        ]
        return replace(AttackResult.of(folds, self.result.step), seconds=time.perf_counter() - started)

    def _fold(self, number: int, fold: FoldResult, options: Sequence[ProtocolOption]) -> FoldResult:
        if fold.parts:
            parts = [self._fold(number, part, options) for part in fold.parts]
            return step_attack.fuse_parts(parts, seed=self.seed)
        compared = self.compared[number][fold.encoders[0], fold.step]
        sides = {side: changed(sets, options) for side, sets in compared.items()}
        tried = changed(self.people[number][self.model.trial], options)
        dev_enrol, dev_trial = (sides[side] for side in self.model.development)
        dev = self._scores(fold, dev_enrol, dev_trial, "dev")
        scores = self._scores(fold, sides[self.model.enrolment], sides[self.model.trial], "eval")
        for option in options:
            dev = option.scores(dev, tried.dev_trial, tried.dev_enrol)
            scores = option.scores(scores, tried.eval_trial, tried.eval_enrol)
        bits, error = step_attack.disclosure_and_error(dev)
        return replace(fold, scores=scores, dev=dev, development=bits, error=error)

    @staticmethod
    def _scores(fold: FoldResult, enrol: EmbeddingSets, trial: EmbeddingSets, split: str) -> ScoreMatrix:
        if fold.backend is None:
            raise ValueError("a fusion has parts")
        enrolled = enrol.part_draws(f"{split}_enrol")
        return step_attack.score_trials(fold.backend, enrolled, trial.parts()[f"{split}_trial"], fold.draws)


def changed(sets: EmbeddingSets, options: Sequence[ProtocolOption]) -> EmbeddingSets:
    """Return the sets after the changes of some options."""
    for option in options:
        sets = option.sets(sets)
    return sets


def try_protocols(plan: AttackPlan, attacks: AttackRows, strongest: int) -> tuple[AttackRows, LearningCurve | None]:
    """Return the rows of the strongest attacker under other protocols, and its disclosure over enrolled recordings.

    The rows are of each respect by itself, and of what development people choose. Options are added one respect after
    the other, as long as development people disclose more. Without full effort there are none.

    Parameters
    ----------
    plan
        The attacks of the audit.
    attacks
        Their results under the usual protocol.
    strongest
        Number of the strongest.
    """
    model, result = attacks.rows[strongest].about.threat, attacks.attacks[strongest]
    if plan.options.effort != "full" or model is None:
        return AttackRows(), None
    attack, usual = _ProtocolAttack.of(plan, model, result), plan.protocol
    choices = {name: attack.options(choice) for name, choice in PROTOCOLS.items()}
    computed = iter(attack.attempts([(option,) for options in choices.values() for option in options], plan.run))
    single_attempts = {name: list(islice(computed, len(options))) for name, options in choices.items()}
    rows: dict[Protocol, _Attempt] = {}
    best = _Attempt((), result)
    for name, attempts in single_attempts.items():
        if name != ENROLLED.name:
            for attempt in sorted(attempts, key=_development):
                rows[attempt.protocol(usual)] = attempt
        combined = attempts
        if best.options:
            combined = attack.attempts([(*best.options, option) for option in choices[name]], plan.run)
        best = max([best, *combined], key=_development)
    if best.options:
        rows[best.protocol(usual)] = best
    results = AttackRows()
    plan.evaluate([(model, attempt.result) for attempt in rows.values()], results)
    for place, protocol in enumerate(rows):
        row = results.rows[place]
        about = replace(row.about, role="protocol", protocol=protocol)
        results.rows[place] = replace(row, about=about, labels={**row.labels, "protocol": str(protocol)})
        results.cards[place] = plan.card(model, results.attacks[place], protocol)
    return results, _over_enrolment(single_attempts.get(ENROLLED.name, []), result, usual)


def _development(attempt: _Attempt) -> float:
    return attempt.result.development


def _over_enrolment(attempts: Sequence[_Attempt], result: AttackResult, usual: Protocol) -> LearningCurve | None:
    """Return the disclosure of evaluated people over the number of recordings that are enrolled of each."""
    if not attempts:
        return None
    amounts = [attempt.protocol(usual).enrolled for attempt in attempts]
    bits = [
        float(np.mean([step_attack.disclosure(fold.scores) for fold in each.folds]))
        for each in (*(attempt.result for attempt in attempts), result)
    ]
    return LearningCurve((*amounts, usual.enrolled), tuple(bits))
