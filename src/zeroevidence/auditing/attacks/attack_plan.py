"""Who attacks whom with what, and what comes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import count

from zeroevidence.attack.attackers.card import AttackerCard, attacker_card
from zeroevidence.attack.attackers.challenges import RANDOM_VECTORS, UNPROTECTED_SPEECH
from zeroevidence.attack.backends.backend import Backend
from zeroevidence.attack.ladder.adapter import Adapter
from zeroevidence.attack.ladder.ladder import LadderStep
from zeroevidence.auditing.attacks.attack_result import AttackResult, chosen
from zeroevidence.auditing.attacks.backend_curve import learning_curve
from zeroevidence.auditing.attacks.learning_curve import LearningCurve
from zeroevidence.auditing.attacks.step_attack import FoldResult, Sides, adapted, climb, fit_candidates, fuse
from zeroevidence.auditing.inputs.embedding_sets import noise_like
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech
from zeroevidence.data.threat import ThreatModel
from zeroevidence.evaluation import About, Evaluation, Options, add_similarity, evaluate
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.uncertainty.resampling.draws import Progress


@dataclass(frozen=True, slots=True)
class AttackRows:
    """Rows with their cards and what is behind them, one of each."""

    rows: list[Evaluation]
    cards: list[AttackerCard]
    attempts: list[AttackResult]


@dataclass(frozen=True, slots=True)
class AttackPlan:
    """Who attacks whom with what."""

    folds: list[list[EncodedSpeech]]  # for each fold of people the same encoders in the same order
    steps: list[LadderStep]
    models: list[ThreatModel]
    options: Options
    seed: int
    words: tuple[str, str]  # system, dataset
    workers: int
    fitted: dict[tuple[int, str, str, str, bool], tuple[Sides, list[Backend]]] = field(default_factory=dict)

    @property
    def encoders(self) -> list[EncodedSpeech]:
        """The encoders, as they see the people of the first fold."""
        return self.folds[0]

    def tried(self) -> Iterator[tuple[int, LadderStep, ThreatModel]]:
        """Every number of an encoder, step and threat model that go together, bounds first."""
        for number, encoder in enumerate(self.encoders):
            for step in self.steps:
                if encoder.serves(UNPROTECTED_SPEECH, step.name) and not step.adapts:
                    yield number, step, UNPROTECTED_SPEECH
                    if number == 0 and step is self.steps[0]:
                        yield number, step, RANDOM_VECTORS
                for model in self.models:
                    sides = {model.enrolment, model.trial, model.trained_on, *model.development}
                    fits = not step.adapts or (sides == {"anonymised"} and not model.adapter)
                    if fits and encoder.serves(model, step.name):
                        yield number, step, model

    def run(self, adapter: Adapter, progress: Progress | None) -> AttackRows:
        """All rows with their cards and what is behind them; fusions and what folds chose last."""
        wanted = list(self.tried())
        several = [model for model in self.models if sum(one[2] == model for one in wanted) > 1]
        total = len(wanted) + len(several) * (1 if len(self.folds) == 1 else 2)
        groups: dict[ThreatModel, list[AttackResult]] = {model: [] for _, _, model in wanted}
        done, tried = AttackRows([], [], []), count(1)

        def add(model: ThreatModel, carried: AttackResult | None, since: float) -> None:
            if carried is not None:
                carried = replace(carried, seconds=time.perf_counter() - since)
                groups[model].append(carried)
                done.rows.append(self._row(model, carried))
                done.cards.append(self._card(model, carried))
                done.attempts.append(carried)
            if progress is not None:
                progress(next(tried), total)

        for number, step, model in wanted:
            started = time.perf_counter()
            folds = range(len(self.folds))
            add(model, AttackResult.of([self._attempt(fold, number, step, model, adapter) for fold in folds]), started)
        for model in several:
            started = time.perf_counter()
            parts = zip(*(one.folds for one in groups[model]), strict=True)
            add(model, AttackResult.of([fuse(attempts, seed=self.seed) for attempts in parts]), started)
        for model in several if len(self.folds) > 1 else ():
            add(model, chosen(groups[model]), time.perf_counter())
        scores = [one.scores.to_scores() for one in done.attempts]
        return replace(done, rows=add_similarity(list(zip(done.rows, scores, strict=True))))

    def _attempt(self, fold: int, number: int, step: LadderStep, model: ThreatModel, adapter: Adapter) -> FoldResult:
        adapts, encoder = step.adapts or model.adapter, self.folds[fold][number]
        known = fold, encoder.name, step.name, model.trained_on, adapts
        if known not in self.fitted:  # threat models that learn from the same speech share what they learn
            sides = self.sides(encoder, fold)
            sides = adapted(sides, deepcopy(adapter)) if adapts else sides
            self.fitted[known] = sides, fit_candidates(step, sides[model.trained_on].train)
        sides, candidates = self.fitted[known]
        return climb(model, step.name, encoder.name, sides, candidates)

    def sides(self, encoder: EncodedSpeech, fold: int = 0) -> Sides:
        """What may be compared: both kinds of speech, and noise."""
        found = encoder.sides()
        return found if encoder.original is None else {**found, "noise": noise_like(encoder.original, self.seed, fold)}

    def _row(self, model: ThreatModel, attempt: AttackResult) -> Evaluation:
        system, dataset = self.words
        labels = {
            "system": model.name if model.is_bound else system,
            "dataset": dataset,
            "split": "eval",
            "encoder": attempt.encoder if len(self.encoders) > 1 else "",
            "backend": attempt.step,
        }
        row = evaluate(
            attempt.scores,
            dev=attempt.dev,
            labels={name: value for name, value in labels.items() if value},
            about=self._about(model, attempt),
            options=self.options,
            workers=self.workers,
        )
        alid = row.number("alid")
        if model.development != (model.enrolment, model.trial) and alid is not None and alid < 0.0:
            row = row.with_flags(flag("calibration-misled"))
        return row

    def _about(self, model: ThreatModel, attempt: AttackResult) -> About:
        if model.is_bound:
            return About.against(model)
        spent = TrainingEffort(self._fewest("train"), attempt.settings)
        learned = max(
            (one.learned for one in self._used(attempt) if one.learned), key=lambda one: one.epochs, default=None
        )
        if learned is not None:
            spent = replace(spent, epochs=learned.epochs, recordings=learned.recordings)
        return replace(About.against(model), development=attempt.development, spent=spent)

    def _fewest(self, split: str) -> int:
        """People of a split; of folds that differ, in the one with fewest."""
        return min(len(encoders[0].anonymised.speakers(split)) for encoders in self.folds)

    def _used(self, attempt: AttackResult) -> list[EncodedSpeech]:
        return [one for one in self.encoders if one.name in attempt.encoders]

    def _card(self, model: ThreatModel, attempt: AttackResult) -> AttackerCard:
        heard = {one.trained_on for one in self._used(attempt)}
        return attacker_card(
            model,
            backend=attempt.step,
            extractor=attempt.encoder,
            identities=attempt.identities,
            train_speakers=self._fewest("train"),
            dev_speakers=self._fewest("dev"),
            folds=len(self.folds),
            extractor_trained_on="anonymised" if "anonymised" in heard else None,
            spent=self._about(model, attempt).spent,
        )

    def curves(self, done: AttackRows, strongest: int) -> tuple[LearningCurve | None, LearningCurve | None]:
        """Disclosure to an attacker over its training people, and over the epochs of its encoder's training.

        Neither is known where people were cross-validated: folds of few people leave nobody to take away.
        """
        model = done.rows[strongest].about.threat
        if model is None or len(self.folds) > 1:
            return None, None
        carried = done.attempts[strongest]
        if carried.folds[0].backend is None:  # of a fusion, its strongest part
            parts = [
                one
                for row, one in zip(done.rows, done.attempts, strict=True)
                if row.about.threat == model and one.folds[0].backend is not None
            ]
            carried = max(parts, key=lambda one: one.development)
        encoder, attempt = self._used(carried)[0], carried.folds[0]
        if encoder.learned is not None:
            return encoder.learned.over_people, encoder.learned.over_epochs
        adapts = model.adapter or any(step.adapts for step in self.steps if step.name == attempt.step)
        if attempt.backend is None or adapts or encoder.trained_on != "original":
            return None, None
        return learning_curve(model, attempt.backend, self.sides(encoder), seed=self.seed), None
