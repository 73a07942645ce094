"""Audit of embeddings: every attacker on every step of the ladder with every encoder, beside the bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zeroevidence._typing import FloatArray
from zeroevidence.attack.attackers import UNPROTECTED_SPEECH, AttackerCard, find_attacker
from zeroevidence.attack.cues import cue_columns
from zeroevidence.attack.ladder import LADDER
from zeroevidence.auditing import embedding_sets, row_flags
from zeroevidence.auditing.attack_plan import AttackPlan, AttackRows
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech, LearningCurve
from zeroevidence.auditing.encoders import ALL_CUES
from zeroevidence.auditing.options import AuditOptions
from zeroevidence.auditing.protocols import try_protocols
from zeroevidence.auditing.step_attack import FailedAttack
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.attack_scores import AttackScores
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Finding, findings, flag_rows
from zeroevidence.evaluation.finding.facts import LEARNING_CURVES
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.release import ProtectorCard
from zeroevidence.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHOUT_VOICE = ("background", "channel")  # cues in which no voice is heard
CONTROL = f"cue:{'+'.join(WITHOUT_VOICE)}"
_STEP = "whitened"


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit.

    Parameters
    ----------
    rows
        For each encoder and step of the ladder the bounds, then the attackers; then the fusions of all steps and, where
        folds of people chose different attackers, what each chose; then the room control, where cues were measured, and
        with ``full`` the strongest attacker under other protocols.
    cards
        The card of each row's attacker: objective, opportunity, resources.
    finding
        Which attacker is strongest, chosen on development people, and what follows.
    curve
        Disclosure to the strongest attacker over the number of its training people; None where it is not known. Of a
        fusion, that of its strongest part.
    effort_curve
        The same over the epochs of its encoder's training.
    draws_curve
        The same over the draws of the anonymiser that its back-end learns from and that it enrols; the encoder stays
        the same.
    enrolment_curve
        The same over the recordings that are enrolled of each person, with ``full``.
    left_out
        Steps that were not tried, and why.
    failed
        Attacks that were tried and could not be carried out.
    seconds
        How long each row took to learn and to score.
    utility
        Utility of the same speech, where it was measured.
    protector
        The card of the protector: what it defends, keeps and needs.
    scores
        The scores of each row, with which two audits of the same speech can be compared trial by trial.

    Examples
    --------
    >>> from zeroevidence.evaluation import Options
    >>> from zeroevidence.sample import sample_audit
    >>> result = sample_audit("pitch", options=Options(intervals=0, null=0))
    >>> [row.about.role for row in result.rows]
    ['control', 'floor', 'attack', 'attack', 'attack']
    >>> result.finding.level
    'recognised'
    """

    rows: tuple[Evaluation, ...]
    cards: tuple[AttackerCard, ...]
    finding: Finding
    curve: LearningCurve | None = None
    effort_curve: LearningCurve | None = None
    draws_curve: LearningCurve | None = None
    enrolment_curve: LearningCurve | None = None
    left_out: tuple[str, ...] = ()
    failed: tuple[FailedAttack, ...] = ()
    seconds: tuple[float, ...] = ()
    utility: tuple[Evaluation, ...] = ()
    protector: ProtectorCard | None = None
    scores: tuple[AttackScores, ...] = ()

    @property
    def strongest(self) -> Evaluation:
        """The row of the strongest attacker."""
        return self.rows[self.finding.strongest]

    @property
    def verdict(self) -> Any:
        """The finding in words, a `zeroevidence.report.verdict.Verdict`: headline, summary, the reasons in detail."""
        return import_module("zeroevidence.report.verdict").verdict(self.rows)  # builds on this package

    @property
    def paragraph(self) -> str:
        """One paragraph for a data protection impact assessment."""
        return str(self.verdict.assessment)

    def plot(self, kind: str = "attackers", **options: Any) -> Figure:
        """Return a figure of all rows; by default the best attacker of each kind, beside guessing.

        Parameters
        ----------
        kind
            A kind of figure, as `zeroevidence plot --list` names them.
        options
            Its options, and those of `zeroevidence.plot.draw`.
        """
        figure: Figure = import_module("zeroevidence.plot").draw(kind, self.rows, **options)
        return figure

    def _repr_html_(self) -> str:
        return str(import_module("zeroevidence.report.page").audit_html(self.rows))


def audit(
    original: EmbeddingSets | Embeddings,
    anonymised: EmbeddingSets | Embeddings,
    options: AuditOptions = AuditOptions(),
    *,
    encoders: Sequence[EncodedSpeech] = (),
    draws: Sequence[Embeddings] = (),
    extractor: str = "embeddings",
    run: Run = Run(),
) -> Audit:
    """Attack anonymised speech with every attacker on every step, beside the bounds `unprotected` and `random`.

    Development people choose the settings of each step, and the attacker that counts.

    Parameters
    ----------
    original
        Embeddings of original speech. The people of `Embeddings` that are not split into sets are assigned here, by
        name.
    anonymised
        Embeddings of the same people after protection, by the same extractor.
    options
        What is tried, and how it is measured.
    encoders
        The same speech by further encoders.
    draws
        Embeddings of the recordings to train on and to enrol, under the same identifiers, from further runs of the
        anonymiser.
    extractor
        Label of the embedding extractor, which is taken to have been trained on original speech. One that was trained
        on anonymised speech is one of `encoders`, with ``trained_on="anonymised"``.
    run
        How it is carried out; its cores are processes that evaluate rows.

    Examples
    --------
    >>> from zeroevidence.evaluation import Options
    >>> from zeroevidence.sample import sample_sets
    >>> sides = sample_sets("original"), sample_sets("mcadams")
    >>> quick = AuditOptions(effort="quick", measuring=Options(intervals=0, null=0))
    >>> result = audit(*sides, quick)
    >>> print(result.strongest.about.threat)
    backend-informed (enrolment anonymised, extractor trained on original, back-end on anonymised)
    """
    options = replace(options, system=options.system or "anonymised")
    if isinstance(original, EmbeddingSets) and isinstance(anonymised, EmbeddingSets):
        if options.folds:
            raise UsageError("the people of EmbeddingSets are shared out already; give Embeddings to draw folds")
        sides = [(original, anonymised)]
    elif isinstance(original, EmbeddingSets) or isinstance(anonymised, EmbeddingSets) or encoders:
        raise UsageError("expected EmbeddingSets on both sides and of all encoders, or Embeddings of one encoder")
    else:
        sides = embedding_sets.draw_sets(original, anonymised, options.folds, run.seed, options.splits)
    first = [EncodedSpeech(extractor, before, after.with_draws(draws)) for before, after in sides]
    return audit_folds([[encoder, *encoders] for encoder in first], options, run)


def audit_folds(
    folds: list[list[EncodedSpeech]],
    options: AuditOptions,
    run: Run = Run(),
    *,
    deterministic: bool = False,
    blind: Callable[[], bool] = lambda: False,
    recordings: Mapping[str, str] = MappingProxyType({}),
) -> Audit:
    """`audit` for each fold of people, with the same encoders in each.

    Parameters
    ----------
    folds
        The speech of each fold by each encoder.
    options
        What is tried, and how it is measured.
    run
        How it is carried out; its cores are processes that evaluate rows.
    deterministic
        Whether a second run of the anonymiser gave the same speech.
    blind
        Returns whether the protection is known not to depend on who speaks; asked where it seems to.
    recordings
        By name, the recordings of trials that are parts of one.
    """
    for encoders in folds:
        embedding_sets.check_same_people(encoders)
    same = row_flags.same_flags([encoders[0] for encoders in folds], allow_same=options.allow_same)
    steps, left_out = options.steps(min(len(encoders[0].anonymised.speakers("train")) for encoders in folds))
    plan = AttackPlan(folds, steps, options.threat_models(), options, run, deterministic)
    results = plan.carry_out()
    left_out = (*left_out, *plan.left_out)
    costs = {step.name: step.cost for step in steps}
    change = row_flags.shared_change([encoders[0] for encoders in folds], run.seed, recordings)
    cues = [encoder for encoders in folds for encoder in encoders if encoder.name == ALL_CUES]
    control = room_control(without_voice(cues), options, run)
    failed = (*results.failed, *control.failed)
    rows = row_flags.with_step_flags(flag_rows([*results.rows, *control.rows]), costs)
    sessions = row_flags.session_flags([encoders[0].anonymised for encoders in folds])
    drawn = row_flags.draw_flags(change, row_flags.pitch_change(cues))
    drawn = [] if drawn and blind() else drawn
    rows = row_flags.flag_attacks(rows, *drawn, *same, *sessions, *row_flags.failure_flags(failed))
    rows = row_flags.with_words_flags(row_flags.with_room_flags(rows))
    number = findings(rows)[0].strongest
    rows = row_flags.with_choice_flags(rows, findings(rows)[0])
    protocols, over_enrolment = try_protocols(plan, results, number)
    curves = *plan.curves(results, number), over_enrolment
    for curve, (name, _, rising) in zip(curves, LEARNING_CURVES, strict=True):
        rows[number] = with_curve(rows[number], curve, name, rising)
    rows += protocols.rows
    attacks = *results.attacks, *control.attacks, *protocols.attacks
    if options.effort == "standard" and options.backends is None:
        left_out = (*left_out, "other protocols (what is enrolled, tried and searched): --effort full")
    cards = *results.cards, *control.cards, *protocols.cards
    seconds = tuple(attack.seconds for attack in attacks)
    scores = tuple(AttackScores(attack.scores, attack.dev) for attack in attacks)
    return Audit(tuple(rows), cards, findings(rows)[0], *curves, left_out, failed, seconds, scores=scores)


def room_control(folds: Sequence[EncodedSpeech], options: AuditOptions, run: Run = Run()) -> AttackRows:
    """Return the rows of the control: original speech, then protected speech, each compared with itself.

    Parameters
    ----------
    folds
        Cues without a voice of both kinds of speech in each fold of people; without any there are no rows.
    options
        How it is measured.
    run
        How it is carried out.
    """
    results = AttackRows()
    if not folds:
        return results
    step, informed = LADDER.find(_STEP), find_attacker("backend-informed")
    plan = AttackPlan([[cues] for cues in folds], [step], [informed], options, run)
    models = (UNPROTECTED_SPEECH, informed)
    attacked = list(zip(models, plan.attack([(0, step, model) for model in models]), strict=True))
    results.failed.extend(result for _, result in attacked if isinstance(result, FailedAttack))
    attacks = [(model, result) for model, result in attacked if not isinstance(result, FailedAttack)]
    plan.evaluate(attacks, results)
    rows = (replace(row, about=replace(row.about, role="room")) for row in results.rows)
    return replace(results, rows=[replace(row, labels={**row.labels, "encoder": CONTROL}) for row in rows])


def without_voice(folds: Sequence[EncodedSpeech]) -> list[EncodedSpeech]:
    """Return the cues in which no voice is heard, of all cues; nothing of vectors that are no cues."""
    voiceless = cue_columns(WITHOUT_VOICE)

    def columns(part: Embeddings) -> FloatArray:
        return part.vectors[:, voiceless]

    return [
        EncodedSpeech(CONTROL, cues.original.mapped(columns), cues.anonymised.mapped(columns))
        for cues in folds
        if cues.original is not None and cues.anonymised.train.vectors.shape[1] == len(voiceless)
    ]


def with_curve(row: Evaluation, curve: LearningCurve | None, name: str, rising: str) -> Evaluation:
    """Return the row with a learning curve, and a warning where it has not levelled off."""
    if curve is None:
        return row
    row = replace(row, curves={**row.curves, name: curve.to_curve()})
    if curve.levelled_off:
        return row
    return row.with_flags(flag(rising, gain=curve.gain, amount=curve.amount[-1], before=curve.amount[-2]))
