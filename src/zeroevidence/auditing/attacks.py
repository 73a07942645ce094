"""Every threat model up the ladder of back-ends, with every encoder, beside the bounds."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from zeroevidence.attack.adapter import Adapter
from zeroevidence.attack.attackers import AttackerCard, attacker_card, find_attacker, usual_attackers
from zeroevidence.attack.attackers.challenges import RANDOM_VECTORS, UNPROTECTED_SPEECH
from zeroevidence.attack.backends import Backend, BackendLike, make_backend
from zeroevidence.attack.ladder import Effort, Rung, rungs
from zeroevidence.auditing.checks import with_choice_flags, with_draw_flags, with_step_flags
from zeroevidence.auditing.climbing import Attempt, Sides, adapted, climb, fit_candidates, fuse
from zeroevidence.auditing.encoders import Encoded, check_same_people, shared_change
from zeroevidence.auditing.learning import LearningCurve, learning_curve
from zeroevidence.auditing.sets import EmbeddingSets, noise_like
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import About, Evaluation, Finding, Options, add_similarity, evaluate, findings, together
from zeroevidence.evaluation.flags import flag
from zeroevidence.uncertainty.draws import Progress

CalibratedOn: TypeAlias = Literal["attacker", "matched"]


@dataclass(frozen=True, slots=True)
class Audit:
    """What every attacker learned.

    Parameters
    ----------
    rows
        For each encoder and step of the ladder the bounds, then the attackers; fusions of all steps last.
    cards
        What each row's attacker wants, can reach and has.
    finding
        Who is strongest, chosen on development people, and what follows.
    curve
        Disclosure to the strongest over the number of its training people; None where these are too few, or fused.
    left_out
        Steps that were not tried, and why.

    Examples
    --------
    >>> from zeroevidence.sample.audits import sample_audit
    >>> found = sample_audit("pitch", options=Options(intervals=0, null=0))
    >>> [row.about.role for row in found.rows]
    ['control', 'floor', 'attack', 'attack', 'attack']
    >>> found.finding.level
    'recognised'
    """

    rows: tuple[Evaluation, ...]
    cards: tuple[AttackerCard, ...]
    finding: Finding
    curve: LearningCurve | None = None
    left_out: tuple[str, ...] = ()

    @property
    def strongest(self) -> Evaluation:
        """The row of the strongest attacker."""
        return self.rows[self.finding.strongest]


def audit(
    original: EmbeddingSets,
    anonymised: EmbeddingSets,
    *,
    attackers: Sequence[str | ThreatModel] | None = None,
    effort: Effort = "standard",
    backends: Sequence[BackendLike] | None = None,
    encoders: Sequence[Encoded] = (),
    options: Options | None = None,
    seed: int = 0,
    system: str = "anonymised",
    dataset: str = "",
    extractor: str = "embeddings",
    adapter: Adapter | None = None,
    calibration: CalibratedOn = "matched",
    workers: int = 1,
    progress: Progress | None = None,
) -> Audit:
    """Attack anonymised speech with every attacker up the ladder, beside the bounds `unprotected` and `random`.

    Development people choose the settings of each step, and which attacker speaks for all.

    Parameters
    ----------
    original, anonymised, encoders
        Embeddings of the same people before and after protection, from one extractor; and those of further ones.
    attackers
        Names of registered attackers or threat models; the usual ones unless given.
    effort, backends
        How far to climb; or only these back-ends, by name or as unfitted estimators.
    options, workers, progress
        How to measure; processes for the resampling; called with the number of rows done and wanted.
    system, dataset, extractor
        Words for the labels and cards: the protection, the corpus, the embedding extractor.
    adapter, seed
        The network of steps that have one, unfitted; seed of that network and of the noise in `random`.
    calibration
        ``matched``: on the sides that are evaluated; ``attacker``: on the development speech that the attacker has.

    Examples
    --------
    >>> from zeroevidence.sample import sample_sets
    >>> sides = sample_sets("original"), sample_sets("mcadams")
    >>> found = audit(*sides, effort="quick", options=Options(intervals=0, null=0))
    >>> found.strongest.about.threat.name
    'semi-informed'
    """
    steps, left_out = _steps(effort, backends)
    everyone = [Encoded(extractor, original, anonymised), *encoders]
    check_same_people(everyone)
    network = Adapter(random_state=seed) if adapter is None else adapter
    job = _Job(everyone, steps, _models(attackers, calibration), options or Options(), seed, (system, dataset), workers)
    rows, cards, attempts = job.run(network, progress)
    flagged = with_step_flags(together(rows), {step.name: step.cost for step in steps})
    flagged = with_draw_flags(flagged, shared_change(everyone[0]))
    finding = findings(flagged)[0]
    flagged = with_choice_flags(flagged, finding)
    curve = job.curve(attempts[finding.strongest], flagged[finding.strongest].about.threat)
    flagged[finding.strongest] = _with_curve(flagged[finding.strongest], curve)
    return Audit(tuple(flagged), tuple(cards), finding, curve, left_out)


def _with_curve(row: Evaluation, curve: LearningCurve | None) -> Evaluation:
    if curve is None:
        return row
    row = replace(row, curves={**row.curves, "alid_over_training_people": curve.to_curve()})
    return row if curve.levelled_off else row.with_flags(flag("still-rising", gain=curve.gain))


def _steps(effort: Effort, backends: Sequence[BackendLike] | None) -> tuple[list[Rung], tuple[str, ...]]:
    """The steps to climb, and those that cannot be: a part of the package is missing."""
    if backends is None:
        wanted = rungs(effort)
        missing = [step for step in wanted if step.extra is not None and importlib.util.find_spec(step.extra) is None]
        words = tuple(f"{step.name}: needs pip install 'zeroevidence[{step.extra}]'" for step in missing)
        return [step for step in wanted if step not in missing], words
    named = [make_backend(backend) for backend in backends]
    if not named:
        raise UsageError("an audit needs at least one attacker and one back-end")
    names = [one.name for one in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"back-end {twice[0]!r} is named more than once")
    return [
        Rung(one.name, "", cost, "quick", lambda _p, _d, one=one: [make_backend(one)])  # type: ignore[misc]
        for cost, one in enumerate(named, 1)
    ], ()


def _models(attackers: Sequence[str | ThreatModel] | None, calibration: CalibratedOn) -> list[ThreatModel]:
    models = [find_attacker(attacker) for attacker in (usual_attackers() if attackers is None else attackers)]
    if not models:
        raise UsageError("an audit needs at least one attacker and one back-end")
    if calibration == "matched":
        models = [replace(model, calibration="matched") for model in models]
    names = [str(model) for model in models]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"attacker {twice[0]!r} is named more than once")
    return models


@dataclass(frozen=True, slots=True)
class _Job:
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
                if encoder.trained_on == "original" and not step.adapts:
                    yield encoder, step, UNPROTECTED_SPEECH
                    if encoder is self.encoders[0] and step is self.steps[0]:
                        yield encoder, step, RANDOM_VECTORS
                for model in self.models:
                    sides = {model.enrolment, model.trial, model.trained_on, *model.development}
                    fits = not step.adapts or (sides == {"anonymised"} and not model.adapter)
                    if fits and (encoder.trained_on == "original" or model.trained_on == "anonymised"):
                        yield encoder, step, model

    def run(
        self, adapter: Adapter, progress: Progress | None
    ) -> tuple[list[Evaluation], list[AttackerCard], list[Attempt]]:
        """All rows with their cards and what is behind them; fusions last."""
        wanted = list(self.tried())
        groups: dict[ThreatModel, list[Attempt]] = {model: [] for _, _, model in wanted}
        fusions = [model for model in self.models if sum(one[2] == model for one in wanted) > 1]
        found: list[tuple[Evaluation, Attempt]] = []
        cards = []
        for encoder, step, model in wanted:
            attempt = self._attempt(encoder, step, model, adapter)
            groups[model].append(attempt)
            found.append((self._row(model, attempt), attempt))
            cards.append(self._card(model, attempt))
            if progress is not None:
                progress(len(found), len(wanted) + len(fusions))
        for model in fusions:
            attempt = fuse(groups[model], seed=self.seed)
            found.append((self._row(model, attempt), attempt))
            cards.append(self._card(model, attempt))
            if progress is not None:
                progress(len(found), len(wanted) + len(fusions))
        rows = add_similarity([(row, attempt.scores.to_scores()) for row, attempt in found])
        return rows, cards, [attempt for _, attempt in found]

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
        return {**encoder.sides(), "noise": noise_like(encoder.original, self.seed)}

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
            about=replace(About.against(model), development=None if model.is_bound else attempt.development),
            options=self.options,
            workers=self.workers,
        )
        alid = row.number("alid")
        if model.development != (model.enrolment, model.trial) and alid is not None and alid < 0.0:
            row = row.with_flags(flag("calibration-misled"))
        return row

    def _card(self, model: ThreatModel, attempt: Attempt) -> AttackerCard:
        original = self.encoders[0].original
        return attacker_card(
            model,
            backend=attempt.step,
            extractor=attempt.encoder,
            identities=attempt.scores.scores.shape[1],
            train_speakers=len(original.speakers("train")),
            dev_speakers=len(original.speakers("dev")),
        )

    def curve(self, attempt: Attempt, model: ThreatModel | None) -> LearningCurve | None:
        """Disclosure to an attacker over the number of its training people."""
        encoder = next((one for one in self.encoders if one.name == attempt.encoder), None)
        if attempt.backend is None or model is None or encoder is None or model.adapter:
            return None
        if any(step.adapts for step in self.steps if step.name == attempt.step):
            return None
        return learning_curve(model, attempt.backend, self.sides(encoder), seed=self.seed)
