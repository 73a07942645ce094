"""Every threat model up the ladder of back-ends, with every encoder, beside the bounds."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal, TypeAlias

from zeroevidence.attack.attackers.attacker import find_attacker, usual_attackers
from zeroevidence.attack.attackers.card import AttackerCard
from zeroevidence.attack.backends.backend import BackendLike, make_backend
from zeroevidence.attack.ladder.adapter import Adapter
from zeroevidence.attack.ladder.ladder import Effort, LadderStep, ladder_steps
from zeroevidence.auditing.attacks.attack_plan import AttackPlan
from zeroevidence.auditing.attacks.learning_curve import LearningCurve
from zeroevidence.auditing.attacks.row_flags import with_choice_flags, with_draw_flags, with_step_flags
from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.auditing.inputs.encoded_speech import EncodedSpeech, check_same_people, shared_change
from zeroevidence.auditing.inputs.speaker_folds import drawn_sets
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Finding, Options, findings, together
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.card import ProtectorCard
from zeroevidence.uncertainty.resampling.draws import Progress

CalibratedOn: TypeAlias = Literal["attacker", "matched"]


@dataclass(frozen=True, slots=True)
class Audit:
    """What every attacker learned.

    Parameters
    ----------
    rows
        For each encoder and step of the ladder the bounds, then the attackers; fusions of all steps last, and where
        folds of people chose different attackers, what each chose.
    cards
        What each row's attacker wants, can reach and has.
    finding
        Who is strongest, chosen on development people, and what follows.
    curve, effort_curve
        Disclosure to the strongest over the number of its training people, and over the epochs of its encoder's
        training; None where it is not known. Of a fusion, that of its strongest part.
    left_out
        Steps that were not tried, and why.
    seconds
        How long each row took to learn and to score.
    utility
        What the same speech is still good for, where that was measured.
    protector
        What the protector defends, keeps and needs, where it is known.

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
    effort_curve: LearningCurve | None = None
    left_out: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    utility: tuple[Evaluation, ...] = ()
    protector: ProtectorCard | None = None

    @property
    def strongest(self) -> Evaluation:
        """The row of the strongest attacker."""
        return self.rows[self.finding.strongest]


def audit(
    original: EmbeddingSets | Embeddings,
    anonymised: EmbeddingSets | Embeddings,
    *,
    folds: int | None = None,
    attackers: Sequence[str | ThreatModel] | None = None,
    effort: Effort = "standard",
    backends: Sequence[BackendLike] | None = None,
    encoders: Sequence[EncodedSpeech] = (),
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
        Embeddings of the same people before and after protection, from one extractor; and those of further ones. Of
        `Embeddings` that are not split into sets the people are shared out here, by name.
    folds
        Cross-validation over people, of `Embeddings`: how many folds, 0 for one split; three for fewer than 30 people,
        and one split for more, unless given.
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
    everyone = [
        [EncodedSpeech(extractor, *sides), *encoders] for sides in _sides(original, anonymised, encoders, folds, seed)
    ]
    return audit_folds(
        everyone,
        attackers=attackers,
        effort=effort,
        backends=backends,
        options=options,
        seed=seed,
        words=(system, dataset),
        adapter=adapter,
        calibration=calibration,
        workers=workers,
        progress=progress,
    )


def _sides(
    original: EmbeddingSets | Embeddings,
    anonymised: EmbeddingSets | Embeddings,
    encoders: Sequence[EncodedSpeech],
    folds: int | None,
    seed: int,
) -> list[tuple[EmbeddingSets, EmbeddingSets]]:
    """Both kinds of speech in each fold of people."""
    if isinstance(original, EmbeddingSets) and isinstance(anonymised, EmbeddingSets):
        if folds:
            raise UsageError("the people of EmbeddingSets are shared out already; give Embeddings to draw folds")
        return [(original, anonymised)]
    if isinstance(original, EmbeddingSets) or isinstance(anonymised, EmbeddingSets) or encoders:
        raise UsageError("expected EmbeddingSets on both sides and of all encoders, or Embeddings of one encoder")
    return drawn_sets(original, anonymised, folds, seed)


def audit_folds(
    folds: Sequence[Sequence[EncodedSpeech]],
    *,
    attackers: Sequence[str | ThreatModel] | None,
    effort: Effort,
    backends: Sequence[BackendLike] | None,
    options: Options | None,
    seed: int,
    words: tuple[str, str],
    adapter: Adapter | None = None,
    calibration: CalibratedOn = "matched",
    workers: int = 1,
    progress: Progress | None = None,
) -> Audit:
    """`audit` for each fold of people, with the same encoders in each; `words` are system and dataset."""
    for encoders in folds:
        check_same_people(list(encoders))
    steps, left_out = _steps(effort, backends, min(len(one[0].anonymised.speakers("train")) for one in folds))
    network = Adapter(random_state=seed) if adapter is None else adapter
    models = _models(attackers, calibration)
    job = AttackPlan([list(one) for one in folds], steps, models, options or Options(), seed, words, workers)
    done = job.run(network, progress)
    costs = {step.name: step.cost for step in steps}
    share = fmean(shared_change(encoders[0]) for encoders in folds)
    flagged = with_draw_flags(with_step_flags(together(done.rows), costs), share)
    finding = findings(flagged)[0]
    flagged = with_choice_flags(flagged, finding)
    people, epochs = job.curves(done, finding.strongest)
    flagged[finding.strongest] = _with_curves(flagged[finding.strongest], people, epochs)
    seconds = tuple(one.seconds for one in done.attempts)
    return Audit(tuple(flagged), tuple(done.cards), finding, people, epochs, left_out, seconds)


def _with_curves(row: Evaluation, people: LearningCurve | None, epochs: LearningCurve | None) -> Evaluation:
    row = _with_curve(row, people, "alid_over_training_people", "still-rising")
    return _with_curve(row, epochs, "alid_over_epochs", "training-pays")


def _with_curve(row: Evaluation, curve: LearningCurve | None, name: str, rising: str) -> Evaluation:
    if curve is None:
        return row
    row = replace(row, curves={**row.curves, name: curve.to_curve()})
    return row if curve.levelled_off else row.with_flags(flag(rising, gain=curve.gain))


def _steps(
    effort: Effort, backends: Sequence[BackendLike] | None, people: int
) -> tuple[list[LadderStep], tuple[str, ...]]:
    """The steps to climb, and those that cannot be: a part of the package is missing, or training people are."""
    if backends is None:
        wanted = ladder_steps(effort)
        missing = {step.name: reason for step in wanted if (reason := _obstacle(step, people)) is not None}
        words = tuple(f"{name}: {reason}" for name, reason in missing.items())
        return [step for step in wanted if step.name not in missing], words
    named = [make_backend(backend) for backend in backends]
    if not named:
        raise UsageError("an audit needs at least one attacker and one back-end")
    names = [one.name for one in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"back-end {twice[0]!r} is named more than once")
    return [
        LadderStep(one.name, "", cost, "quick", lambda _p, _d, one=one: [make_backend(one)])  # type: ignore[misc]
        for cost, one in enumerate(named, 1)
    ], ()


def _obstacle(step: LadderStep, people: int) -> str | None:
    if step.extra is not None and importlib.util.find_spec(step.extra) is None:
        return f"needs pip install 'zeroevidence[{step.extra}]'"
    return None if people >= step.people else f"{people} training people; it learns from at least {step.people}"


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
