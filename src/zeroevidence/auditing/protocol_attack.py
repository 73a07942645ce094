"""The strongest attacker under other protocols, among which development people choose.

Encoders and back-ends stay what they are: only what is enrolled, tried and searched changes. The usual protocol stays
that of all other rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from zeroevidence.auditing.attack_plan import AttackPlan, AttackRows
from zeroevidence.auditing.embedding_sets import EmbeddingSets
from zeroevidence.auditing.encoded_speech import LearningCurve
from zeroevidence.auditing.protocols import ENROLLED, PROTOCOLS, ProtocolChoice, ProtocolOption
from zeroevidence.auditing.step_attack import (
    AttackResult,
    FoldResult,
    disclosure,
    disclosure_and_error,
    fuse_parts,
    score_trials,
)
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.threat import ThreatModel
from zeroevidence.evaluation.rows.about import Protocol

FoldOptions = tuple[ProtocolOption, ...]  # the same option in each fold of people


@dataclass(frozen=True, slots=True)
class ProtocolResults:
    """Rows of the strongest attacker under other protocols, and its disclosure over enrolled recordings."""

    rows: AttackRows = field(default_factory=AttackRows)
    over_enrolment: LearningCurve | None = None


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
    """The strongest attacker, to be tried with options."""

    plan: AttackPlan
    model: ThreatModel
    result: AttackResult

    def options(self, choice: ProtocolChoice) -> list[FoldOptions]:
        """Return the options of a choice that all folds of people allow for."""
        folds = []
        for encoders in self.plan.folds:
            sides = encoders[0].sides()
            folds.append(choice.options(sides[self.model.trained_on].train, sides[self.model.trial]))
        sources = {tuple(option.protocol(Protocol(1)).sex for option in options) for options in folds}
        return list(zip(*folds, strict=True)) if len(sources) == 1 else []

    def attempt(self, *options: FoldOptions) -> _Attempt:
        """Return the attack with some options."""
        started = time.perf_counter()
        folds = [
            self._fold(number, fold, [each[number] for each in options])
            for number, fold in enumerate(self.result.folds)
        ]
        result = AttackResult.of(folds, self.result.step)
        return _Attempt(options, replace(result, seconds=time.perf_counter() - started))

    def _fold(self, number: int, fold: FoldResult, options: Sequence[ProtocolOption]) -> FoldResult:
        if fold.parts:
            return fuse_parts([self._fold(number, part, options) for part in fold.parts], seed=self.plan.run.seed)
        sides = {side: changed(sets, options) for side, sets in self.plan.compared(number, self.model, fold).items()}
        tried = changed(self.plan.folds[number][0].sides()[self.model.trial], options)
        dev_enrol, dev_trial = (sides[side] for side in self.model.development)
        dev = self._scores(fold, dev_enrol, dev_trial, "dev")
        scores = self._scores(fold, sides[self.model.enrolment], sides[self.model.trial], "eval")
        for option in options:
            dev = option.scores(dev, tried.dev_trial, tried.dev_enrol)
            scores = option.scores(scores, tried.eval_trial, tried.eval_enrol)
        bits, error = disclosure_and_error(dev)
        return replace(fold, scores=scores, dev=dev, development=bits, error=error)

    @staticmethod
    def _scores(fold: FoldResult, enrol: EmbeddingSets, trial: EmbeddingSets, split: str) -> ScoreMatrix:
        if fold.backend is None:
            raise ValueError("a fusion has parts")
        enrolled = enrol.part_draws(f"{split}_enrol")[: fold.draws.enrolment]
        return score_trials(fold.backend, enrolled, trial.parts()[f"{split}_trial"], fold.draws.level)


def changed(sets: EmbeddingSets, options: Sequence[ProtocolOption]) -> EmbeddingSets:
    """Return the sets after the changes of some options."""
    for option in options:
        sets = option.sets(sets)
    return sets


def try_protocols(plan: AttackPlan, model: ThreatModel, result: AttackResult) -> ProtocolResults:
    """Return the rows of an attacker under other protocols: each respect by itself, and what development people choose.

    Options are added one respect after the other, as long as development people disclose more.

    Parameters
    ----------
    plan
        The attacks of the audit, carried out.
    model
        The threat model of the attacker.
    result
        Its result under the usual protocol.
    """
    attack, usual = _ProtocolAttack(plan, model, result), plan.protocol
    choices = {name: attack.options(choice) for name, choice in PROTOCOLS.items()}
    single_attempts = {name: [attack.attempt(option) for option in options] for name, options in choices.items()}
    rows: dict[Protocol, _Attempt] = {}
    best = _Attempt((), result)
    for name, attempts in single_attempts.items():
        if name != ENROLLED.name:
            for attempt in sorted(attempts, key=_development):
                rows[attempt.protocol(usual)] = attempt
        combined = [attack.attempt(*best.options, option) for option in choices[name]] if best.options else attempts
        best = max([best, *combined], key=_development)
    if best.options:
        rows[best.protocol(usual)] = best
    results = AttackRows()
    for protocol, attempt in rows.items():
        row = plan.row(model, attempt.result)
        about = replace(row.about, role="protocol", protocol=protocol)
        row = replace(row, about=about, labels={**row.labels, "protocol": str(protocol)})
        results.add(row, plan.card(model, attempt.result, protocol), attempt.result)
    return ProtocolResults(results, _over_enrolment(single_attempts.get(ENROLLED.name, []), result, usual))


def _development(attempt: _Attempt) -> float:
    return attempt.result.development


def _over_enrolment(attempts: Sequence[_Attempt], result: AttackResult, usual: Protocol) -> LearningCurve | None:
    """Return the disclosure of evaluated people over the number of recordings that are enrolled of each."""
    if not attempts:
        return None
    amounts = [attempt.protocol(usual).enrolled for attempt in attempts]
    bits = [
        float(np.mean([disclosure(fold.scores) for fold in each.folds]))
        for each in (*(attempt.result for attempt in attempts), result)
    ]
    return LearningCurve((*amounts, usual.enrolled), tuple(bits))
