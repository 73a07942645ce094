"""One call: the scores of a tandem in, one `Evaluation` for all attacks and one for each out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace

from zeroevidence._typing import FloatArray
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.tandem import TandemScores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag, is_above_half, relaxed_flags
from zeroevidence.evaluation.rows.limits import with_limits
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.setup import Resampling, Setup, TandemSetup, digest, exact_number
from zeroevidence.evaluation.tandem.classes import ALL, attacks_of, class_arrays, scores_by_attack, trial_classes
from zeroevidence.evaluation.tandem.curves import tandem_curves, tandem_profiles, tandem_surfaces
from zeroevidence.evaluation.tandem.intervals import TandemSpreads, tandem_spreads
from zeroevidence.measure.measures import MEASURES, compute_family
from zeroevidence.measure.tandem.cost import PRESETS, CostModel
from zeroevidence.measure.tandem.view import TandemView
from zeroevidence.uncertainty.level import LEVEL


def evaluate_tandem(
    scores: TandemScores,
    *,
    model: CostModel | str = "2021",
    by_attack: bool = False,
    intervals: int = 200,
    level: float = LEVEL,
    seed: int = 0,
    labels: Mapping[str, str] | None = None,
    relaxed: Sequence[RelaxedRule] = (),
    phase: str | None = None,
) -> list[Evaluation]:
    """Measure what a verifier behind a countermeasure costs; or either a countermeasure or a single system alone.

    Parameters
    ----------
    model
        The costs, or the name of a preset.
    by_attack
        Also a row for each attack, all sharing the bona fide speech and the verifier's threshold.
    intervals
        How many groups of speakers are left out in turn at most for the intervals, 0 for none. Speakers are left
        out with all their trials on all sides; trials of unknown speakers are dealt to the groups. Where there are
        enough attacks, the interval of all attacks together is one for other attacks like these. Methods, flags and
        signature say what was done.
    level
        Confidence level of the intervals.
    seed
        Seed of the groups that are drawn.
    labels
        What the scores are of.
    relaxed
        Rules that were relaxed to read the scores; they enter the signature.
    phase
        The part of a key that was read; it enters the signature.

    The pooled row comes first, its attack being ``all``, then one for each attack.

    Examples
    --------
    >>> from zeroevidence import TandemScores
    >>> scores = TandemScores.of(cm_bonafide=[2.0, 3.0, 1.0], cm_spoof=[-1.0, 0.0, 1.5])
    >>> (row,) = evaluate_tandem(scores, intervals=0)
    >>> round(float(row["cm_eer"]), 3)
    0.333
    """
    name, model = _named_costs(model)
    if intervals < 0:
        raise InputError(f"expected a number of replicates from 0 on, got {intervals}")
    classes, speakers = trial_classes(scores)
    attacks = attacks_of(scores, classes) if by_attack else []
    drawn = tandem_spreads(classes, attacks, model, intervals, seed) if intervals else None
    setup = Setup(
        families=("tandem",),
        tandem=TandemSetup(name, model.form, model.convention, ALL, phase, model.asv_threshold, model.cm_threshold),
        intervals=None if drawn is None else Resampling(drawn.unit, drawn.groups),
        level=level,
        seed=seed,
        relaxed=tuple(relaxed),
        data=digest(class_arrays(classes, speakers)),
    )
    counted = None if scores.speakers is None else len(speakers)
    return [
        _row(attack, TandemView(part, model), drawn, setup, labels or {}, counted)
        for attack, part in scores_by_attack(classes, attacks).items()
    ]


def _row(
    attack: str,
    view: TandemView,
    drawn: TandemSpreads | None,
    setup: Setup,
    labels: Mapping[str, str],
    speakers: int | None,
) -> Evaluation:
    """The row of one attack, or of all together."""
    measured = compute_family("tandem", view)
    assert setup.tandem is not None
    metrics = _metrics(measured, view, drawn, attack, setup.level)
    return Evaluation(
        metrics=metrics,
        counts=_counts(view.scores) | ({} if speakers is None else {"speakers": speakers}),
        setup=replace(setup, tandem=replace(setup.tandem, attack=attack)),
        labels=labels,
        about=About(question="spoofing", attack=attack),
        flags=(
            *_flags(metrics, speakers or min(map(len, view.scores.values()))),
            *(() if drawn is None else drawn.flags[attack]),
            *_scale_flags(measured, view.model),
            *relaxed_flags(setup.relaxed),
        ),
        curves=tandem_curves(view) | tandem_profiles(view),
        surfaces=tandem_surfaces(view) if attack == ALL else {},  # large, so once
    )


def _metrics(
    values: Mapping[str, float], view: TandemView, drawn: TandemSpreads | None, attack: str, level: float
) -> dict[str, MeasureResult]:
    unit = "" if drawn is None else f"{drawn.unit} and attack" if drawn.by_attack and attack == ALL else drawn.unit
    metrics = {}
    for name, value in values.items():
        result = MeasureResult.of(name, value, MEASURES[name].method_of(view))
        spread = None if drawn is None else drawn.spreads[attack].get(name)
        method = "; ".join(filter(None, (result.method, f"interval by {unit}")))
        metrics[name] = with_limits(result, name, spread, level, bound=False, method=method)
    return metrics


def _counts(part: Mapping[str, FloatArray]) -> dict[str, int]:
    """Trials of the verifier (or single system) by kind, then those of the countermeasure."""
    main = "asv" if "asv_spoof" in part else "sasv"
    counts = {
        kind: len(part[f"{main}_{kind}"]) for kind in ("target", "nontarget", "spoof") if f"{main}_{kind}" in part
    }
    rest = {kind: len(values) for kind, values in part.items() if not kind.startswith(f"{main}_")}
    return counts | rest


def _flags(metrics: Mapping[str, MeasureResult], independent: int) -> tuple[Flag, ...]:
    """Return flags on EERs that exceed one half beyond their intervals."""
    return tuple(
        flag("eer-above-half", measure=MEASURES[name].title, kind=kind)
        for name, kind in (
            ("asv_eer", "the claimed speaker"),
            ("sv_eer", "the claimed speaker"),
            ("cm_eer", "bona fide speech"),
        )
        if name in metrics and is_above_half(metrics[name], independent)
    )


def _named_costs(model: CostModel | str) -> tuple[str, CostModel]:
    """Return the name of the priors and costs, without thresholds, and the model."""
    if isinstance(model, str):
        return _named(model)
    return _named(replace(model, asv_threshold=None, cm_threshold=None))[0], model


def _scale_flags(values: Mapping[str, float], model: CostModel) -> tuple[Flag, ...]:
    """Return a note where the joint minimum is above min t-DCF, which looks impossible."""
    joint, fixed = values.get("tdcf_joint_min"), values.get("tdcf_min")
    above = joint is not None and fixed is not None and joint > fixed
    why = "leaves out the verifier's own errors" if model.form == "legacy" else "is divided by another cost"
    return (flag("joint-above-fixed", why=why),) if above else ()


def _named(model: CostModel | str) -> tuple[str, CostModel]:
    if isinstance(model, str):
        return model, CostModel.preset(model)
    name = next((name for name, preset in PRESETS.items() if preset == model), None)
    numbers = [value for value in (*astuple(model), *(model.asv or ())) if isinstance(value, float)]
    return name or "/".join(map(exact_number, numbers)), model
