"""One call: the scores of a tandem in, one `Evaluation` for all attacks and one for each out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.data.loosened import Loosened
from zeroevidence.data.order import name_ranks
from zeroevidence.data.tandem import TandemScores, TrialScores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.about import About
from zeroevidence.evaluation.flags import Flag, flag, loosened_flags, resampling_flags
from zeroevidence.evaluation.profiles import as_curve, thinned
from zeroevidence.evaluation.results import Curve, Evaluation, Measured, Surface
from zeroevidence.evaluation.setup import Resampling, Setup, TandemSetup, digest
from zeroevidence.evaluation.tandem_profiles import tandem_profiles
from zeroevidence.measure.registry import MEASURES, battery
from zeroevidence.measure.tandem.cost import PRESETS, CostModel
from zeroevidence.measure.tandem.tdcf import constrained_rates, tdcf_curve, tdcf_surface
from zeroevidence.measure.tandem.view import TandemView
from zeroevidence.uncertainty.draws import generator, groups_of
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import Spread, effective_number, spread_of

ALL = "all"
_SURFACE_POINTS = 60
_LEAST_ATTACKS = 6  # fewer do not tell what other attacks are like


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """Ascending scores of one kind of trial, the speaker of each, and where each attack's stand.

    `speaker` is the claimed one and `heard` the one who spoke; -1 where unknown, or where nobody spoke.
    """

    scores: FloatArray
    speaker: IntArray
    heard: IntArray
    attack: Mapping[str, IntArray]

    @property
    def is_labelled(self) -> bool:
        """Whether every trial says how it was made."""
        return bool(self.attack) and "" not in self.attack

    @classmethod
    def of(cls, trials: TrialScores, codes: Mapping[str, int], spoken: Mapping[str, int]) -> _Class:
        # equal scores by what is known of them, so that the order of a file is nothing
        known = [name_ranks(one) for one in (trials.attacks, trials.speakers) if one is not None]
        order = np.lexsort((*known, trials.scores))
        names = np.full(len(trials), "") if trials.speakers is None else trials.speakers[order]
        distinct, inverse = np.unique(names, return_inverse=True)
        speaker = np.array([codes.get(str(name), -1) for name in distinct], dtype=np.int64)[inverse]
        made = {} if trials.attacks is None else _positions(trials.attacks[order])
        heard = np.full(len(trials), -1, dtype=np.int64)
        if trials.utterances is not None and spoken:
            said, place = np.unique(trials.utterances[order], return_inverse=True)
            heard = np.array([spoken.get(str(one), -1) for one in said], dtype=np.int64)[place]
        return cls(trials.scores[order].astype(np.float64), speaker, heard, made)


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Trials that are left out together: for each kind of trial the group of each, and whom they stand for.

    `heard` is the group of the one who spoke, who is another than the claimed speaker in non-target trials; -1 where
    that is not known.
    """

    of: dict[str, IntArray]
    heard: dict[str, IntArray]
    number: int
    clusters: int
    people: float
    shares: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Replicates:
    """Spread of each row's measures, and what was left out."""

    spreads: dict[str, dict[str, Spread]]
    unit: str  # speaker, trial, or speaker+trial where only some speakers are known
    by_attack: bool  # whether the row of all attacks was also measured without each of them
    groups: int
    flags: dict[str, tuple[Flag, ...]]


def evaluate_tandem(
    scores: TandemScores,
    *,
    model: CostModel | str = "2021",
    by_attack: bool = False,
    intervals: int = 200,
    seed: int = 0,
    labels: Mapping[str, str] | None = None,
    loosened: Sequence[Loosened] = (),
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
        How many groups of speakers are left out in turn at most for the 95 % intervals, 0 for none. Speakers are left
        out with all their trials on all sides; trials of unknown speakers are dealt to the groups. Where there are
        enough attacks, the interval of all attacks together is one for other attacks like these. Methods, flags and
        signature say what was done.
    seed, labels
        Of groups that are drawn; what the scores are of.
    loosened, phase
        Rules of reading that were loosened, and the part of a key that was read; enter the signature.

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
    classes, known = _classes(scores)
    attacks = _attacks(scores, classes) if by_attack else []
    drawn = _left_out(classes, attacks, model, intervals, seed) if intervals else None
    setup = Setup(
        families=("tandem",),
        tandem=TandemSetup(name, model.form, model.convention, ALL, phase, model.asv_threshold, model.cm_threshold),
        intervals=None if drawn is None else Resampling(drawn.unit, drawn.groups),
        seed=seed,
        loosened=tuple(loosened),
    )
    counted = None if scores.speakers is None else len(known)
    return [
        _row(attack, TandemView(part, model), drawn, setup, labels or {}, counted)
        for attack, part in _by_attack(classes, attacks).items()
    ]


def _row(
    attack: str,
    view: TandemView,
    drawn: _Replicates | None,
    setup: Setup,
    labels: Mapping[str, str],
    speakers: int | None,
) -> Evaluation:
    """The row of one attack, or of all together."""
    measured = battery("tandem", view)
    assert setup.tandem is not None
    return Evaluation(
        metrics=_metrics(measured, view, drawn, attack),
        counts=_counts(view.scores) | ({} if speakers is None else {"speakers": speakers}),
        setup=replace(setup, tandem=replace(setup.tandem, attack=attack), data=digest(view.scores.values())),
        labels=labels,
        about=About(question="spoofing", attack=attack),
        flags=(
            *_flags(measured),
            *(() if drawn is None else drawn.flags[attack]),
            *_scale_flags(measured, view.model),
            *loosened_flags(setup.loosened),
        ),
        curves=_curves(view) | tandem_profiles(view),
        surfaces=_surfaces(view) if attack == ALL else {},  # large, so once
    )


def _classes(scores: TandemScores) -> tuple[dict[str, _Class], list[str]]:
    """The scores of each kind of trial, and the names of the speakers."""
    known = [] if scores.speakers is None else [str(speaker) for speaker in scores.speakers]
    codes = {speaker: code for code, speaker in enumerate(known)} if len(known) > 1 else {}
    spoken = _spoken(scores, codes)
    return {kind: _Class.of(trials, codes, spoken) for kind, trials in scores.classes().items()}, known


def _spoken(scores: TandemScores, codes: Mapping[str, int]) -> dict[str, int]:
    """Who spoke each bona fide utterance: the claimed speaker of a target, and whom the countermeasure hears."""
    sure = (scores.asv_target, scores.sasv_target, scores.cm_bonafide)
    return {
        str(utterance): codes[str(speaker)]
        for trials in sure
        if trials is not None and trials.utterances is not None and trials.speakers is not None
        for utterance, speaker in zip(trials.utterances, trials.speakers, strict=True)
        if str(speaker) in codes
    }


def _by_attack(classes: Mapping[str, _Class], attacks: Sequence[str]) -> dict[str, dict[str, FloatArray]]:
    """Scores by kind of trial for all attacks and for each."""
    parts = {ALL: {kind: one.scores for kind, one in classes.items()}}
    for attack in attacks:
        parts[attack] = {
            kind: one.scores[one.attack[attack]] if kind.endswith("spoof") else one.scores
            for kind, one in classes.items()
        }
    return parts


def _curves(view: TandemView) -> dict[str, Curve]:
    """Cost of the tandem over the countermeasure's threshold, its minimum among the points."""
    rates = constrained_rates(view)
    if rates is None or view.cm is None:
        return {}
    cost = tdcf_curve(*view.cm, rates, view.model)
    keep = np.union1d(thinned(len(cost.tdcf)), [int(cost.tdcf.argmin())])
    return {"t_dcf": as_curve(cost.threshold[keep], cost.tdcf[keep])}


def _surfaces(view: TandemView) -> dict[str, Surface]:
    """Cost over both thresholds, the countermeasure's (x) and the verifier's (y)."""
    if view.asv is None or view.cm is None:
        return {}
    found = tdcf_surface(*view.asv, *view.cm, view.model, points=_SURFACE_POINTS)
    cm, asv = tuple(found.threshold_cm.tolist()), tuple(found.threshold_asv.tolist())
    return {"t_dcf": Surface(cm, asv, tuple(tuple(line) for line in found.tdcf.tolist()))}


def _metrics(
    values: Mapping[str, float], view: TandemView, drawn: _Replicates | None, attack: str
) -> dict[str, Measured]:
    metrics = {}
    for name, value in values.items():
        entry = MEASURES[name]
        method, low, high = entry.method(view), None, None
        found = None if drawn is None else drawn.spreads[attack].get(name)
        if drawn is not None and found is not None:
            low, high = (float(one) for one in np.clip(found.limits(value), entry.low, entry.high))
            unit = f"{drawn.unit} and attack" if drawn.by_attack and attack == ALL else drawn.unit
            method = "; ".join(filter(None, (method, f"interval by {unit}")))
        metrics[name] = Measured(value, entry.unit, method, low, high, spread=found)
    return metrics


def _left_out(
    classes: Mapping[str, _Class], attacks: Sequence[str], model: CostModel, most: int, seed: int
) -> _Replicates:
    groups = _groups(classes, most, seed)
    rows = [ALL, *attacks]
    values: dict[str, list[dict[str, float]]] = {row: [] for row in rows}
    for g in range(groups.number):
        kept = {kind: (groups.of[kind] != g) & (groups.heard[kind] != g) for kind in classes}
        for row, part in _parts(classes, kept, attacks):
            values[row].append(_measured(part, model))
    left_out_attacks = _without_attacks(classes, model)
    whole = {row: _measured(part, model) for row, part in _by_attack(classes, attacks).items()}
    spreads = {row: _spreads(whole[row], values[row], groups) for row in rows}
    spreads[ALL] = _widened(spreads[ALL], left_out_attacks)
    alone = {kind: int(np.count_nonzero(one.speaker < 0)) for kind, one in classes.items()}
    unit, flags = _unit(alone, sum(alone.values()), sum(len(one.scores) for one in classes.values()))
    if unit == "speaker":
        flags += resampling_flags(unit, groups.clusters, groups.people)
    lost = {row: sum(not one for one in values[row]) for row in rows}
    missing = {row: [flag("values-left-out", lost=n, times=groups.number)] if n else [] for row, n in lost.items()}
    found_flags = {row: (*flags, *missing[row]) for row in rows}
    return _Replicates(spreads, unit, bool(left_out_attacks), groups.number, found_flags)


def _measured(part: Mapping[str, FloatArray], model: CostModel) -> dict[str, float]:
    """The measures; none where a class is empty, or a legacy cost is not defined."""
    try:
        found = battery("tandem", TandemView(part, model))
        return {name: value for name, value in found.items() if isinstance(value, float)}
    except InputError:
        return {}


def _groups(classes: Mapping[str, _Class], most: int, seed: int) -> _Groups:
    """Speakers, or groups of them; trials of unknown speakers are dealt to these, or to groups of their own."""
    rng = generator(seed, 3, 0)
    speakers = 1 + max(int(one.speaker.max(initial=-1)) for one in classes.values())
    clusters = speakers if speakers > 1 else min(len(one.scores) for one in classes.values())
    number = min(most, clusters)
    group = groups_of(speakers, most, seed) if speakers > 1 else np.empty(0, dtype=np.int64)
    of, effective, shares = {}, [], np.zeros(number)
    for kind, one in classes.items():
        dealt = rng.permutation(np.arange(len(one.scores)) % number)
        known = one.speaker >= 0
        of[kind] = np.where(known, np.append(group, 0)[one.speaker], dealt)
        shares = np.maximum(shares, np.bincount(of[kind], minlength=number) / len(one.scores))
        people = effective_number(np.bincount(one.speaker[known]).astype(float)) if known.any() else 0.0
        effective.append(people + float(np.count_nonzero(~known)))
    heard = {kind: np.where(one.heard >= 0, np.append(group, 0)[one.heard], -1) for kind, one in classes.items()}
    return _Groups(of, heard, number, clusters, min(effective), shares)


def _spreads(whole: Mapping[str, float], values: Sequence[Mapping[str, float]], groups: _Groups) -> dict[str, Spread]:
    found = {}
    for name, value in whole.items() if groups.clusters >= LEAST_PEOPLE else ():
        left_out = np.array([one.get(name, np.nan) for one in values])
        spread = spread_of(value, left_out, groups.shares, groups.people)
        if spread is not None:
            found[name] = spread
    return found


def _without_attacks(classes: Mapping[str, _Class], model: CostModel) -> list[dict[str, float]]:
    """The measures without each attack; none where there are too few attacks to speak of others like them."""
    spoofs = {kind: one for kind, one in classes.items() if kind.endswith("spoof")}
    names = sorted({name for one in spoofs.values() for name in one.attack})
    if len(names) < _LEAST_ATTACKS or not all(one.is_labelled for one in spoofs.values()):
        return []
    found = []
    for name in names:
        part = {kind: one.scores for kind, one in classes.items()}
        for kind, one in spoofs.items():
            part[kind] = np.delete(one.scores, one.attack.get(name, np.empty(0, dtype=np.int64)))
        found.append(_measured(part, model))
    return found


def _widened(spreads: Mapping[str, Spread], without: Sequence[Mapping[str, float]]) -> dict[str, Spread]:
    """Spreads that also hold for other attacks."""
    if not without:
        return dict(spreads)
    shares = np.full(len(without), 1.0 / len(without))
    found = {}
    for name, one in spreads.items():
        values = np.array([part.get(name, np.nan) for part in without])
        attacks = spread_of(0.0, values, shares, float(len(without)))
        found[name] = one if attacks is None else one.beside(attacks)
    return found


def _unit(alone: Mapping[str, int], single: int, total: int) -> tuple[str, list[Flag]]:
    """What was drawn, and what is to be said where not all speakers are known."""
    if single == total:
        remedy = "give a key or protocol that names the speakers"
        return "trial", [flag("speakers-unknown", unit="trial", remedy=remedy)]
    if single:
        which = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in alone.items() if number)
        return "speaker+trial", [flag("speakers-partly-unknown", which=which)]
    return "speaker", []


def _parts(
    classes: Mapping[str, _Class], kept: Mapping[str, BoolArray], attacks: Sequence[str]
) -> Iterator[tuple[str, dict[str, FloatArray]]]:
    """The scores that are kept, for all attacks and for each; still ascending, so sorting them again is quick."""
    whole = {kind: one.scores[kept[kind]] for kind, one in classes.items()}
    yield ALL, whole
    for attack in attacks:
        own = {
            kind: one.scores[one.attack[attack]][kept[kind][one.attack[attack]]]
            for kind, one in classes.items()
            if kind.endswith("spoof")
        }
        yield attack, {**whole, **own}


def _positions(names: np.ndarray[tuple[int], np.dtype[np.str_]]) -> dict[str, IntArray]:
    return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}


def _attacks(scores: TandemScores, classes: Mapping[str, _Class]) -> list[str]:
    """The attacks that every side has spoofs of."""
    spoofs = {kind: one for kind, one in classes.items() if kind.endswith("spoof")}
    for kind, trials in scores.classes().items():
        if kind in spoofs and (trials.attacks is None or (trials.attacks == "").any()):
            number = len(trials) if trials.attacks is None else int((trials.attacks == "").sum())
            raise InputError(f"{number} of {len(trials)} {kind} scores have no attack label; expected one for each")
    for kind, one in spoofs.items():
        for other, theirs in spoofs.items():
            lacking = sorted(set(one.attack) - set(theirs.attack))
            if lacking:
                raise InputError(f"attack {lacking[0]!r} has {kind} scores but no {other} scores")
    return sorted(next(iter(spoofs.values())).attack)


def _counts(part: Mapping[str, FloatArray]) -> dict[str, int]:
    """Trials of the verifier (or single system) by kind, then those of the countermeasure."""
    main = "asv" if "asv_spoof" in part else "sasv"
    counts = {
        kind: len(part[f"{main}_{kind}"]) for kind in ("target", "nontarget", "spoof") if f"{main}_{kind}" in part
    }
    rest = {kind: len(values) for kind, values in part.items() if not kind.startswith(f"{main}_")}
    return counts | rest


def _flags(values: Mapping[str, float]) -> tuple[Flag, ...]:
    """EERs that say that scores point the wrong way."""
    return tuple(
        flag("eer-above-half", measure=MEASURES[name].title, kind=kind)
        for name, kind in (
            ("asv_eer", "the claimed speaker"),
            ("sv_eer", "the claimed speaker"),
            ("cm_eer", "bona fide speech"),
        )
        if values.get(name, 0.0) > 0.5
    )


def _named_costs(model: CostModel | str) -> tuple[str, CostModel]:
    """What the priors and costs are called, whatever the thresholds, and the model."""
    if isinstance(model, str):
        return _named(model)
    return _named(replace(model, asv_threshold=None, cm_threshold=None))[0], model


def _scale_flags(values: Mapping[str, float], model: CostModel) -> tuple[Flag, ...]:
    """A note where the joint minimum is above the other one, which looks impossible."""
    joint, fixed = values.get("tdcf_joint_min"), values.get("tdcf_min")
    above = joint is not None and fixed is not None and joint > fixed
    why = "leaves out the verifier's own errors" if model.form == "legacy" else "is divided by another cost"
    return (flag("joint-above-fixed", why=why),) if above else ()


def _named(model: CostModel | str) -> tuple[str, CostModel]:
    if isinstance(model, str):
        return model, CostModel.preset(model)
    name = next((name for name, preset in PRESETS.items() if preset == model), None)
    numbers = [value for value in (*astuple(model), *(model.asv or ())) if isinstance(value, float)]
    return name or "/".join(f"{value:g}" for value in numbers), model
