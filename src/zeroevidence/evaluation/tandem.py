"""One call: the scores of a tandem in, one `Evaluation` for all attacks and one for each out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.loosened import Loosened
from zeroevidence.data.tandem import TandemScores, TrialScores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.about import About
from zeroevidence.evaluation.flags import FEW_SPEAKERS, Flag, flag
from zeroevidence.evaluation.profiles import as_curve, thinned
from zeroevidence.evaluation.results import Curve, Evaluation, Measured, Surface
from zeroevidence.evaluation.setup import Resampling, Setup, TandemSetup, digest
from zeroevidence.measure.registry import MEASURES, battery
from zeroevidence.measure.tandem.cost import PRESETS, CostModel
from zeroevidence.measure.tandem.tdcf import tdcf_curve, tdcf_surface, view_rates
from zeroevidence.measure.tandem.view import TandemView
from zeroevidence.uncertainty.intervals import interval

ALL = "all"
_SURFACE_POINTS = 60


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """Ascending scores of one kind of trial, the speaker of each (-1: unknown), and where each attack's stand."""

    scores: FloatArray
    speaker: IntArray
    attack: Mapping[str, IntArray]

    @classmethod
    def of(cls, trials: TrialScores, codes: Mapping[str, int]) -> _Class:
        order = np.argsort(trials.scores, kind="stable")
        names = np.full(len(trials), "") if trials.speakers is None else trials.speakers[order]
        distinct, inverse = np.unique(names, return_inverse=True)
        speaker = np.array([codes.get(str(name), -1) for name in distinct], dtype=np.int64)[inverse]
        made = {} if trials.attacks is None else _positions(trials.attacks[order])
        return cls(trials.scores[order].astype(np.float64), speaker, made)

    def resampled(self, rng: np.random.Generator, counts: IntArray) -> IntArray:
        """How often each trial is drawn: as often as its speaker, or singly among trials of its kind."""
        times = np.append(counts, 0)[self.speaker]
        alone = self.speaker < 0
        if alone.any():
            for rows in self.attack.values() or (np.arange(len(self.scores)),):
                own = rows[alone[rows]]
                times[own] = np.bincount(rng.integers(0, max(len(own), 1), len(own)), minlength=len(own))
        return times


@dataclass(frozen=True, slots=True, eq=False)
class _Replicates:
    """Values of each row's measures over the replicates, and what was drawn."""

    values: dict[str, dict[str, list[float]]]
    unit: str  # speaker, trial, or speaker+trial where only some speakers are known
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
        Bootstrap replicates for the 95 % percentile intervals, 0 for none. Speakers are resampled with all their trials
        on both sides; trials of unknown speakers by themselves. Methods, flags and signature say what was done.
    seed, labels
        Of the bootstrap; what the scores are of.
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
    name, model = _named(model)
    if intervals < 0:
        raise InputError(f"expected a number of replicates from 0 on, got {intervals}")
    classes, known = _classes(scores)
    attacks = _attacks(scores, classes) if by_attack else []
    # One speaker drawn as often as there are speakers would always give the same sample.
    speakers = len(known) if len(known) > 1 else 0
    drawn = _bootstrap(classes, attacks, model, speakers, intervals, seed) if intervals else None
    setup = Setup(
        families=("tandem",),
        tandem=TandemSetup(name, model.form, model.convention, ALL, phase),
        intervals=None if drawn is None else Resampling(drawn.unit, intervals),
        interval_method=None if drawn is None else "percentile",
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
        flags=(*_flags(measured), *(() if drawn is None else drawn.flags[attack])),
        curves=_curves(view),
        surfaces=_surfaces(view) if attack == ALL else {},  # large, so once
    )


def _classes(scores: TandemScores) -> tuple[dict[str, _Class], list[str]]:
    """The scores of each kind of trial, and the names of the speakers."""
    known = [] if scores.speakers is None else [str(speaker) for speaker in scores.speakers]
    codes = {speaker: code for code, speaker in enumerate(known)} if len(known) > 1 else {}
    return {kind: _Class.of(trials, codes) for kind, trials in scores.classes().items()}, known


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
    rates = view_rates(view)
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
        found = None if drawn is None else drawn.values[attack].get(name)
        if drawn is not None and found:
            low, high = interval(value, np.array(found), method="percentile")
            method = "; ".join(filter(None, (method, f"interval by {drawn.unit}")))
        metrics[name] = Measured(value, entry.unit, method, low, high)
    return metrics


def _bootstrap(
    classes: Mapping[str, _Class], attacks: Sequence[str], model: CostModel, speakers: int, times: int, seed: int
) -> _Replicates:
    rows = [ALL, *attacks]
    values: dict[str, dict[str, list[float]]] = {row: {} for row in rows}
    rng = np.random.default_rng(seed)
    lost = dict.fromkeys(rows, 0)
    for _ in range(times):
        drawn = _drawn(classes, rng, speakers)
        for row, part in _parts(classes, drawn, attacks):
            try:
                measured = battery("tandem", TandemView(part, model))
            except InputError:  # a class that nobody drawn has, or a legacy cost that is undefined for this draw
                lost[row] += 1
                continue
            for name, value in measured.items():
                values[row].setdefault(name, []).append(value)
    alone = {kind: int(np.count_nonzero(one.speaker < 0)) for kind, one in classes.items()}
    single, total = sum(alone.values()), sum(len(one.scores) for one in classes.values())
    unit, flags = _unit(alone, single, total)
    if 0 < speakers < FEW_SPEAKERS:
        flags.append(flag("few-speakers", speakers=speakers))
    left_out = {row: [flag("replicates-left-out", lost=n, times=times)] if n else [] for row, n in lost.items()}
    return _Replicates(values, unit, {row: (*flags, *left_out[row]) for row in rows})


def _unit(alone: Mapping[str, int], single: int, total: int) -> tuple[str, list[Flag]]:
    """What was drawn, and what is to be said where not all speakers are known."""
    if single == total:
        remedy = "give a key or protocol that names the speakers"
        return "trial", [flag("speakers-unknown", unit="trial", remedy=remedy)]
    if single:
        which = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in alone.items() if number)
        return "speaker+trial", [flag("speakers-partly-unknown", which=which)]
    return "speaker", []


def _drawn(classes: Mapping[str, _Class], rng: np.random.Generator, speakers: int) -> dict[str, IntArray]:
    """How often each trial is drawn; the same speakers on all sides."""
    counts = np.bincount(rng.integers(0, speakers, speakers), minlength=speakers) if speakers else np.empty(0, int)
    return {kind: one.resampled(rng, counts) for kind, one in classes.items()}


def _parts(
    classes: Mapping[str, _Class], drawn: Mapping[str, IntArray], attacks: Sequence[str]
) -> Iterator[tuple[str, dict[str, FloatArray]]]:
    """The scores of a replicate, for all attacks and for each; still ascending, so sorting them again is quick."""
    whole = {kind: np.repeat(one.scores, drawn[kind]) for kind, one in classes.items()}
    yield ALL, whole
    for attack in attacks:
        own = {
            kind: np.repeat(one.scores[one.attack[attack]], drawn[kind][one.attack[attack]])
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


def _named(model: CostModel | str) -> tuple[str, CostModel]:
    if isinstance(model, str):
        return model, CostModel.preset(model)
    name = next((name for name, preset in PRESETS.items() if preset == model), None)
    return name or "/".join(f"{value:g}" for value in astuple(model) if isinstance(value, float)), model
