"""The plan of an audit: which attackers are tried with which encoders and steps, and the rows and curves of results."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.linalg import LinAlgError

from zeroevidence._typing import StrArray
from zeroevidence.attack.attackers import RANDOM_VECTORS, UNPROTECTED_SPEECH, AttackerCard, attacker_card
from zeroevidence.attack.backends import Backend, make_backend
from zeroevidence.attack.ladder import Adapter, LadderStep
from zeroevidence.auditing import step_attack
from zeroevidence.auditing.content_cues import WORDS
from zeroevidence.auditing.embedding_sets import EncodedSpeech, LearningCurve, noise_like, required_speech
from zeroevidence.auditing.options import AuditOptions
from zeroevidence.auditing.step_attack import AttackResult, FailedAttack, FoldResult, Sides
from zeroevidence.data.threat import ThreatModel, Training
from zeroevidence.errors import InputError
from zeroevidence.evaluation import About, Evaluation, add_similarity, evaluate
from zeroevidence.evaluation.rows.about import DrawUse, Protocol, TrainingEffort
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run

Result = TypeVar("Result")
Attack: TypeAlias = tuple[int, LadderStep, ThreatModel]  # the first is the number of an encoder
FoldOutcome: TypeAlias = tuple[FoldResult | str, float]  # the result, or why there is none, and how long it took
# over training people, epochs of the encoder's training, and draws of the anonymiser, where they are known
LearningCurves: TypeAlias = tuple[LearningCurve | None, LearningCurve | None, LearningCurve | None]


@dataclass(frozen=True, slots=True)
class AttackRows:
    """Rows with the card and the scores of each, and attacks that could not be carried out."""

    rows: list[Evaluation] = field(default_factory=list)
    cards: list[AttackerCard] = field(default_factory=list)
    attacks: list[AttackResult] = field(default_factory=list)
    failed: list[FailedAttack] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AttackPlan:
    """The attacks of an audit."""

    folds: list[list[EncodedSpeech]]  # for each fold of people the same encoders in the same order
    steps: list[LadderStep]
    models: list[ThreatModel]
    options: AuditOptions
    run: Run = Run()
    deterministic: bool = False  # whether a second run of the anonymiser gave the same speech
    # by fold, encoder and step, speech after an adapter network
    adapted: dict[tuple[int, str, str], Sides] = field(default_factory=dict)

    @property
    def encoders(self) -> list[EncodedSpeech]:
        """The encoders with the speech of the first fold of people."""
        return self.folds[0]

    @property
    def protocol(self) -> Protocol:
        """The protocol of all rows."""
        return Protocol(max(encoders[0].anonymised.most_enrolled for encoders in self.folds))

    def attacks(self) -> Iterator[Attack]:
        """Yield the number of an encoder, step and threat model of each attack, bounds first."""
        for number, encoder in enumerate(self.encoders):
            for step in self.steps:
                if encoder.serves(UNPROTECTED_SPEECH, step.name) and not step.adapts:
                    yield number, step, UNPROTECTED_SPEECH
                    if number == 0 and step is self.steps[0]:
                        yield number, step, RANDOM_VECTORS
                for model in self.models:
                    fits = not step.adapts or (required_speech(model) == {"anonymised"} and not model.adapter)
                    if fits and encoder.serves(model, step.name):
                        yield number, step, model

    def carry_out(self) -> AttackRows:
        """Carry out all attacks; the rows of fusions, and of what folds chose, come last.

        An attack that cannot be carried out on these vectors is left out and named.

        Raises
        ------
        InputError
            Where none can be carried out on protected speech.
        """
        attacks = list(self.attacks())
        groups: dict[ThreatModel, list[AttackResult]] = {}
        carried_out: list[tuple[ThreatModel, AttackResult]] = []
        results = AttackRows()

        def keep(model: ThreatModel, result: AttackResult) -> None:
            carried_out.append((model, result))
            groups.setdefault(model, []).append(result)

        for (_, _, model), result in zip(attacks, self.attack(attacks), strict=True):
            if isinstance(result, FailedAttack):
                results.failed.append(result)
            else:
                keep(model, result)
        if not any(model in groups for model in self.models):
            if self.unserved == self.models:
                raise InputError(f"no attacker can be tried: {'; '.join(map(_lacks_encoder, self.models))}")
            names = "; ".join(dict.fromkeys(f"{failed.encoder}, {failed.step}" for failed in results.failed))
            reasons = "; ".join(dict.fromkeys(failed.reason for failed in results.failed))
            raise InputError(f"no attack on protected speech could be carried out ({names}): {reasons}")
        for model, fusion in self._fusions(groups):
            keep(model, fusion)
        for model in self.models if len(self.folds) > 1 else ():
            tried = groups.get(model, [])
            chosen = step_attack.choose_per_fold(tried) if len(tried) > 1 else None
            if chosen is not None:
                keep(model, chosen)
        self.evaluate(carried_out, results)
        scores = [result.scores.to_scores() for result in results.attacks]
        return replace(results, rows=add_similarity(list(zip(results.rows, scores, strict=True))))

    def _fusions(self, groups: Mapping[ThreatModel, list[AttackResult]]) -> list[tuple[ThreatModel, AttackResult]]:
        """Return the fusion of what each attacker has; none of one part, or of parts that another attacker has, too."""
        parts: dict[ThreatModel, list[list[FoldResult]]] = {}
        for model in (model for model in self.models if model in groups):
            results = [result for other in groups if model.has_means_of(other) for result in groups[other]]
            whole = [result.folds for result in results if self._is_whole(result)]
            if len(whole) > 1:
                parts[model] = list(map(list, zip(*whole, strict=True)))
        tasks = [partial(_fuse, fold, self.run.seed) for folds in parts.values() for fold in folds]
        computed = iter(list(compute_each(_timed, tasks, self.run, little=True)))
        fusions = []
        for model, given in parts.items():
            outcomes = list(zip(given, islice(computed, len(given)), strict=True))
            folds = [replace(fused, parts=tuple(fold[at] for at in used)) for fold, ((fused, used), _) in outcomes]
            fusion = replace(AttackResult.of(folds), seconds=sum(seconds for _, (_, seconds) in outcomes))
            if model.extractor in {encoder.trained_on for encoder in self._used(fusion)}:
                fusions.append((model, fusion))
        return fusions

    @property
    def unserved(self) -> list[ThreatModel]:
        """Attackers for whom there is no encoder."""
        tried = {model for _, _, model in self.attacks()}
        return [model for model in self.models if model not in tried]

    @property
    def left_out(self) -> tuple[str, ...]:
        """Attackers for whom there is no encoder, with the reason."""
        return tuple(map(_lacks_encoder, self.unserved))

    def evaluate(self, attacks: list[tuple[ThreatModel, AttackResult]], results: AttackRows) -> None:
        """Add the rows of attacks."""
        shown = self.run.progress("attackers", "rows")
        tasks = [self._task(model, result) for model, result in attacks]
        evaluated = zip(attacks, compute_each(_timed, tasks, self.run, little=True), strict=True)
        for (model, result), (row, seconds) in evaluated:
            alid = row.number("alid")
            if model.development != (model.enrolment, model.trial) and alid is not None and alid < 0.0:
                row = row.with_flags(flag("calibration-misled"))
            result = replace(result, seconds=result.seconds + seconds)
            results.rows.append(row)
            results.cards.append(self.card(model, result))
            results.attacks.append(result)
            shown(len(results.rows), len(tasks))

    def attack(self, attacks: Sequence[Attack]) -> list[AttackResult | FailedAttack]:
        """Carry out attacks; one that fails in a fold of people has failed."""
        tasks: dict[tuple[int, int, str, Training, bool], _FoldAttacks] = {}
        for number, step, model in attacks:
            adapts = step.adapts or model.adapter
            for fold, encoders in enumerate(self.folds):
                adapter = (self.options.adapter or Adapter(random_state=self.run.seed)) if adapts else None
                task = _FoldAttacks(encoders[number], fold, step, adapter, self.run.seed)
                tasks.setdefault((fold, number, step.name, model.training, adapts), task).models.append(model)
        # the costly ones first, so that all workers end at nearly the same time; folds stay in their order
        tasks = dict(sorted(tasks.items(), key=lambda item: (item[1].adapter is None, -item[1].step.cost)))
        shown = self.run.progress("attackers", "fits")
        outcomes: dict[tuple[int, str, ThreatModel], list[FoldOutcome]] = defaultdict(list)
        computed = compute_each(_FoldAttacks.carry_out, tasks.values(), self.run, little=True)
        for done, ((key, task), (adapted, parts)) in enumerate(zip(tasks.items(), computed, strict=True), 1):
            if adapted is not None:
                self.adapted[task.fold, task.encoder.name, task.step.name] = adapted
            for model, outcome in zip(task.models, parts, strict=True):
                outcomes[key[1], task.step.name, model].append(outcome)
            shown(done, len(tasks))
        return [self._in_all_folds(attack, outcomes[attack[0], attack[1].name, attack[2]]) for attack in attacks]

    def _in_all_folds(self, attack: Attack, outcomes: list[FoldOutcome]) -> AttackResult | FailedAttack:
        number, step, model = attack
        reason = next((outcome for outcome, _ in outcomes if isinstance(outcome, str)), None)
        if reason is None:
            try:
                result = AttackResult.of([outcome for outcome, _ in outcomes if isinstance(outcome, FoldResult)])
                return replace(result, seconds=sum(seconds for _, seconds in outcomes))
            except InputError as error:
                reason = error.reason
        return FailedAttack(model.name, self.encoders[number].name, step.name, reason)

    def _adapts(self, model: ThreatModel, fold: FoldResult) -> bool:
        return model.adapter or any(step.adapts for step in self.steps if step.name == fold.step)

    def compared(self, number: int, model: ThreatModel, fold: FoldResult) -> Sides:
        """Return the speech that an attack of one encoder compared in a fold of people, adapted where the step does."""
        if self._adapts(model, fold):
            return self.adapted[number, fold.encoders[0], fold.step]
        (encoder,) = (encoder for encoder in self.folds[number] if encoder.name == fold.encoders[0])
        return compared_speech(encoder, self.run.seed, number)

    def _task(self, model: ThreatModel, result: AttackResult) -> Callable[[], Evaluation]:
        """Return what evaluates an attack."""
        labels = {
            "system": model.name if model.is_bound else self.options.system,
            "dataset": self.options.dataset,
            "split": "eval",
            "encoder": result.encoder if len(self.encoders) > 1 else "",
            "backend": result.step,
        }
        named = {name: value for name, value in labels.items() if value}
        about = replace(About.against(model), protocol=self.protocol)
        if not model.is_bound:
            fused, spent = any(fold.parts for fold in result.folds), self._spent(model, result)
            bits, error = result.development, result.error
            about = replace(about, development=bits, development_error=error, fused=fused, spent=spent)
            about = replace(about, words=result.encoders == (WORDS.encoder,))
        # Of few people the exchanges do not depend on the seed, nor do splits: a verdict near the level would.
        seed = self.run.seed if result.splits == 1 else 0
        run, options = Run(seed, self.run.level), self.options.measuring  # all that other processes need
        return partial(evaluate, result.scores, dev=result.dev, labels=named, about=about, options=options, run=run)

    def _spent(self, model: ThreatModel, result: AttackResult) -> TrainingEffort:
        """Return what an attacker spent."""
        used = self._used(result)
        sets = [encoders[0].anonymised for encoders in self.folds]  # the fold that has fewest people counts
        train, dev = (min(len(fold.speakers(split)) for fold in sets) for split in ("train", "dev"))
        spent = TrainingEffort(train, result.settings, development_people=dev)
        spent = replace(spent, folds=len(self.folds) // result.splits, splits=result.splits)
        draws = DrawUse.together([fold.draws for fold in result.folds])
        if model.enrolment == "anonymised":
            runs = 1 + len(self.encoders[0].anonymised.draws)
            draws = replace(draws, runs=runs, deterministic=self.deterministic)
        spent = replace(spent, draws=draws)
        tunings = [encoder.learned for encoder in used if encoder.learned is not None]
        if tunings:
            longest = max(tunings, key=lambda tuning: tuning.epochs)
            spent = replace(spent, epochs=longest.epochs, recordings=longest.recordings)
        return spent

    def _is_whole(self, result: AttackResult) -> bool:
        return all(encoder.part_of is None for encoder in self._used(result))

    def _used(self, result: AttackResult) -> list[EncodedSpeech]:
        return [encoder for encoder in self.encoders if encoder.name in result.encoders]

    def card(self, model: ThreatModel, result: AttackResult, protocol: Protocol | None = None) -> AttackerCard:
        """Return the card of its attacker, where another protocol than the usual one is given under that one."""
        identities = min(len(part.enrolment_names) for part in result.scores.parts)
        extractors = {encoder.name: encoder.trained_on for encoder in self._used(result)}
        return attacker_card(model, result.step, extractors, identities, self._spent(model, result), protocol)

    def curves(self, results: AttackRows, strongest: int) -> LearningCurves:
        """Return disclosure to an attacker over training people, epochs of its encoder's training, and draws.

        The first two are not known where people were cross-validated: folds of few people leave nobody to take away.
        """
        model = results.rows[strongest].about.threat
        if model is None:
            return None, None, None
        result = results.attacks[strongest]
        if result.folds[0].backend is None:  # of a fusion, its strongest part
            fused = result.folds[0].parts
            parts = [part for part in results.attacks if part.folds[0] in fused]
            result = max(parts, key=lambda part: part.development)
        draws = self._draw_curve(model, result)
        if len(self.folds) > 1:
            return None, None, draws
        encoder, (fold,) = self._used(result)[0], result.folds
        if encoder.learned is not None:
            return encoder.learned.over_people, encoder.learned.over_epochs, draws
        if fold.backend is None or self._adapts(model, fold) or encoder.trained_on != "original":
            return None, None, draws
        sides = compared_speech(encoder, self.run.seed)
        return learning_curve(model, fold.backend, sides, fold.draws, self.run), None, draws

    def _draw_curve(self, model: ThreatModel, result: AttackResult) -> LearningCurve | None:
        """Return disclosure over draws of the anonymiser, averaged over folds of people."""
        curves = []
        for number, fold in enumerate(result.folds):
            if fold.backend is None:
                return None
            curve = draw_curve(model, fold.backend, self.compared(number, model, fold), fold.draws, self.run)
            if curve is None:
                return None
            curves.append(curve)
        return LearningCurve(curves[0].amount, tuple(np.mean([curve.bits for curve in curves], axis=0).tolist()))


@dataclass(frozen=True, slots=True)
class _FoldAttacks:
    """Attacks that learn the same in one fold of people: from the same speech, by the same encoder and step."""

    encoder: EncodedSpeech
    fold: int
    step: LadderStep
    adapter: Adapter | None  # trained before, where the step or the attackers do so
    seed: int
    models: list[ThreatModel] = field(default_factory=list)

    def carry_out(self) -> tuple[Sides | None, list[FoldOutcome]]:
        """Return the speech after the adapter network, if any, and the result of each attack."""
        outcomes: list[FoldOutcome] = []
        started = time.perf_counter()
        try:
            sides = compared_speech(self.encoder, self.seed, self.fold)
            if self.adapter is not None:
                sides = step_attack.adapt(sides, deepcopy(self.adapter))
            candidates = step_attack.fit_candidates(self.step, sides[self.models[0].training])
        except (InputError, LinAlgError) as error:
            return None, [(_reason(error), 0.0)] * len(self.models)
        for model in self.models:
            result: FoldResult | str
            try:
                result = step_attack.run_step(model, self.step.name, self.encoder.name, sides, candidates)
            except (InputError, LinAlgError) as error:
                result = _reason(error)
            outcomes.append((result, time.perf_counter() - started))
            started = time.perf_counter()
        return None if self.adapter is None else sides, outcomes


def _lacks_encoder(model: ThreatModel) -> str:
    return f"{model.name}: no encoder that was trained on {model.extractor} speech"


def _reason(error: InputError | LinAlgError) -> str:
    return error.reason if isinstance(error, InputError) else str(error)


def compared_speech(encoder: EncodedSpeech, seed: int, fold: int = 0) -> Sides:
    """Return what may be compared: both kinds of speech, and noise."""
    sides = encoder.sides()
    if encoder.original is None:
        return sides
    return {**sides, "noise": noise_like(encoder.original, seed, fold)}


def _fuse(parts: Sequence[FoldResult], seed: int) -> tuple[FoldResult, list[int]]:
    """Return a fusion without its parts, and their numbers: what comes from another process is a copy."""
    fused = step_attack.fuse(parts, seed=seed)
    return replace(fused, parts=()), [at for at, part in enumerate(parts) if part in fused.parts]


def _timed(task: Callable[[], Result]) -> tuple[Result, float]:
    """Return the result of a task, and the seconds that it took."""
    started = time.perf_counter()
    return task(), time.perf_counter() - started


_SHARES = (0.25, 0.5, 1.0)
_REPEATS = 5
_LEAST_PEOPLE = 4
_NUMBERS = (1, 2, 5, 10, 20, 50, 100)  # of draws


def learning_curve(
    model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse, run: Run
) -> LearningCurve | None:
    """Return the disclosure to the same back-end fitted to fewer people; None where it cannot be fitted to so few."""
    everyone = sides[model.training].speakers("train")
    sizes = [max(2, round(share * len(everyone))) for share in _SHARES]
    if sizes[0] < _LEAST_PEOPLE:
        return None
    repeats = [1 if size == len(everyone) else _REPEATS for size in sizes]
    seeds = [[run.seed, size, repeat] for size, number in zip(sizes, repeats, strict=True) for repeat in range(number)]
    people = [np.random.default_rng(each).permutation(everyone)[: each[1]] for each in seeds]
    disclosure = partial(_disclosure, model, backend, sides, draws)
    try:
        bits = iter(list(compute_each(disclosure, people, run, little=True)))
    except (InputError, LinAlgError):
        return None
    return LearningCurve(tuple(sizes), tuple(float(np.mean(list(islice(bits, number)))) for number in repeats))


def draw_curve(model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse, run: Run) -> LearningCurve | None:
    """Return the disclosure to the same back-end over the number of draws that it learns from and enrols.

    The encoder stays the same. None where there is one draw only, or the attacker enrols original speech.
    """
    most = 1 + len(sides[model.enrolment].draws)
    if most < 2:
        return None
    amounts = [*(number for number in _NUMBERS if number < most), most]
    people = sides[model.training].speakers("train")
    uses = [replace(draws, training=number, enrolment=number) for number in amounts]
    disclosure = partial(_disclosure, model, backend, sides, people=people)
    return LearningCurve(tuple(amounts), tuple(compute_each(disclosure, uses, run, little=True)))


def _disclosure(model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse, people: StrArray) -> float:
    vectors, speakers = sides[model.training].training(draws.training)
    rows = np.isin(speakers, people)
    fitted = make_backend(backend).fit(vectors[rows], speakers[rows])
    enrolled = sides[model.enrolment].part_draws("eval_enrol")
    scores = step_attack.score_trials(fitted, enrolled, sides[model.trial].eval_trial, draws)
    return step_attack.disclosure(scores)
