"""Who attacks whom with what, and what comes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace

from zeroevidence.attack.adapter import Adapter
from zeroevidence.attack.attackers import AttackerCard, attacker_card
from zeroevidence.attack.attackers.challenges import RANDOM_VECTORS, UNPROTECTED_SPEECH
from zeroevidence.attack.backends import Backend
from zeroevidence.attack.ladder import Rung
from zeroevidence.auditing.climbing import Attempt, Sides, adapted, climb, fit_candidates, fuse
from zeroevidence.auditing.curves import LearningCurve
from zeroevidence.auditing.encoders import Encoded
from zeroevidence.auditing.learning import learning_curve
from zeroevidence.auditing.sets import noise_like
from zeroevidence.data.threat import ThreatModel
from zeroevidence.evaluation import About, Evaluation, Options, add_similarity, evaluate
from zeroevidence.evaluation.about import Spent
from zeroevidence.evaluation.flags import flag
from zeroevidence.uncertainty.draws import Progress


@dataclass(frozen=True, slots=True)
class Done:
    """Rows with their cards and what is behind them, one of each."""

    rows: list[Evaluation]
    cards: list[AttackerCard]
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class Job:
    """Who attacks whom with what."""

    encoders: list[Encoded]
    steps: list[Rung]
    models: list[ThreatModel]
    options: Options
    seed: int
    words: tuple[str, str]  # system, dataset
    workers: int
    fitted: dict[tuple[str, str, str, bool], tuple[Sides, list[Backend]]] = field(default_factory=dict)

    def tried(self) -> Iterator[tuple[Encoded, Rung, ThreatModel]]:
        """Every encoder, step and threat model that go together, bounds first."""
        for encoder in self.encoders:
            for step in self.steps:
                if encoder.serves(UNPROTECTED_SPEECH, step.name) and not step.adapts:
                    yield encoder, step, UNPROTECTED_SPEECH
                    if encoder is self.encoders[0] and step is self.steps[0]:
                        yield encoder, step, RANDOM_VECTORS
                for model in self.models:
                    sides = {model.enrolment, model.trial, model.trained_on, *model.development}
                    fits = not step.adapts or (sides == {"anonymised"} and not model.adapter)
                    if fits and encoder.serves(model, step.name):
                        yield encoder, step, model

    def run(self, adapter: Adapter, progress: Progress | None) -> Done:
        """All rows with their cards and what is behind them; fusions last."""
        wanted = list(self.tried())
        groups: dict[ThreatModel, list[Attempt]] = {model: [] for _, _, model in wanted}
        fusions = [model for model in self.models if sum(one[2] == model for one in wanted) > 1]
        done = Done([], [], [])

        def add(model: ThreatModel, attempt: Attempt, since: float) -> None:
            attempt = replace(attempt, seconds=time.perf_counter() - since)
            groups[model].append(attempt)
            done.rows.append(self._row(model, attempt))
            done.cards.append(self._card(model, attempt))
            done.attempts.append(attempt)
            if progress is not None:
                progress(len(done.rows), len(wanted) + len(fusions))

        for encoder, step, model in wanted:
            started = time.perf_counter()
            add(model, self._attempt(encoder, step, model, adapter), started)
        for model in fusions:
            started = time.perf_counter()
            add(model, fuse(groups[model], seed=self.seed), started)
        scores = [one.scores.to_scores() for one in done.attempts]
        return replace(done, rows=add_similarity(list(zip(done.rows, scores, strict=True))))

    def _attempt(self, encoder: Encoded, step: Rung, model: ThreatModel, adapter: Adapter) -> Attempt:
        adapts = step.adapts or model.adapter
        known = encoder.name, step.name, model.trained_on, adapts
        if known not in self.fitted:  # threat models that learn from the same speech share what they learn
            sides = self.sides(encoder)
            sides = adapted(sides, deepcopy(adapter)) if adapts else sides
            self.fitted[known] = sides, fit_candidates(step, sides[model.trained_on].train)
        sides, candidates = self.fitted[known]
        return climb(model, step.name, encoder.name, sides, candidates)

    def sides(self, encoder: Encoded) -> Sides:
        """What may be compared: both kinds of speech, and noise."""
        found = encoder.sides()
        return found if encoder.original is None else {**found, "noise": noise_like(encoder.original, self.seed)}

    def _row(self, model: ThreatModel, attempt: Attempt) -> Evaluation:
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

    def _about(self, model: ThreatModel, attempt: Attempt) -> About:
        if model.is_bound:
            return About.against(model)
        spent = Spent(len(self.encoders[0].anonymised.speakers("train")), attempt.settings)
        learned = max(
            (one.learned for one in self._used(attempt) if one.learned), key=lambda one: one.epochs, default=None
        )
        if learned is not None:
            spent = replace(spent, epochs=learned.epochs, recordings=learned.recordings)
        return replace(About.against(model), development=attempt.development, spent=spent)

    def _used(self, attempt: Attempt) -> list[Encoded]:
        return [one for one in self.encoders if one.name in attempt.encoders]

    def _card(self, model: ThreatModel, attempt: Attempt) -> AttackerCard:
        speech = self.encoders[0].anonymised
        heard = {one.trained_on for one in self._used(attempt)}
        return attacker_card(
            model,
            backend=attempt.step,
            extractor=attempt.encoder,
            identities=attempt.scores.scores.shape[1],
            train_speakers=len(speech.speakers("train")),
            dev_speakers=len(speech.speakers("dev")),
            extractor_trained_on="anonymised" if "anonymised" in heard else None,
            spent=self._about(model, attempt).spent,
        )

    def curves(self, done: Done, strongest: int) -> tuple[LearningCurve | None, LearningCurve | None]:
        """Disclosure to an attacker over its training people, and over the epochs of its encoder's training."""
        model = done.rows[strongest].about.threat
        if model is None:
            return None, None
        attempt = done.attempts[strongest]
        if attempt.backend is None:  # of a fusion, its strongest part
            parts = [
                one
                for row, one in zip(done.rows, done.attempts, strict=True)
                if row.about.threat == model and one.backend is not None
            ]
            attempt = max(parts, key=lambda one: one.development)
        encoder = self._used(attempt)[0]
        if encoder.learned is not None:
            return encoder.learned.over_people, encoder.learned.over_epochs
        adapts = model.adapter or any(step.adapts for step in self.steps if step.name == attempt.step)
        if attempt.backend is None or adapts or encoder.trained_on != "original":
            return None, None
        return learning_curve(model, attempt.backend, self.sides(encoder), seed=self.seed), None
