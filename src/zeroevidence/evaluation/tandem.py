"""One call: the scores of a tandem in, one `Evaluation` for all attacks and one for each out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence._version import __version__
from zeroevidence.data.tandem import TandemScores, TrialScores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.flags import FEW_SPEAKERS
from zeroevidence.evaluation.profiles import curve_of, thinned
from zeroevidence.evaluation.results import Curve, Evaluation, Metric, Surface
from zeroevidence.evaluation.signature import digest
from zeroevidence.measure.catalogue import CATALOGUE
from zeroevidence.measure.tandem import (
    PRESETS,
    CostModel,
    adcf_min,
    asv_rates,
    cm_cllr,
    cm_dcf,
    cm_dcf_min,
    cm_eer,
    tdcf_curve,
    tdcf_joint_min,
    tdcf_min,
    tdcf_surface,
)
from zeroevidence.measure.tandem_eer import teer
from zeroevidence.measure.verification import eer
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
        """How often each trial is drawn: as often as its speaker, or by itself among its like."""
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
    flags: dict[str, tuple[str, ...]]


def evaluate_tandem(
    scores: TandemScores,
    *,
    model: CostModel | str = "2021",
    by_attack: bool = False,
    intervals: int = 200,
    seed: int = 0,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> list[Evaluation]:
    """Measure what a verifier behind a countermeasure costs; or either a countermeasure or a single system alone.

    Parameters
    ----------
    model
        The costs, or the name of a preset.
    by_attack
        Also a row for each attack, all sharing the bona fide speech and the verifier's threshold.
    intervals
        Bootstrap replicates for the 95 % percentile intervals, 0 for none. Speakers are resampled, and with them all
        their trials on both sides; trials whose speaker is unknown are resampled by themselves. What was done is
        in the method of each measure, in the flags and in the signature.
    seed
        Of the bootstrap.
    labels, notes
        What the scores are of, and what was done to them before; the notes enter the signature.

    Returns
    -------
    list
        The pooled row, its label ``attack`` being ``all``, then one for each attack.
    """
    name, model = _named(model)
    if intervals < 0:
        raise InputError(f"expected a number of replicates from 0 on, got {intervals}")
    speakers = scores.speakers
    known = [] if speakers is None else [str(speaker) for speaker in speakers]
    # One speaker drawn as often as there are speakers would always give the same sample.
    codes = {speaker: code for code, speaker in enumerate(known)} if len(known) > 1 else {}
    classes = {kind: _Class.of(trials, codes) for kind, trials in scores.classes().items()}
    attacks = _attacks(scores, classes) if by_attack else []
    parts = {ALL: {kind: one.scores for kind, one in classes.items()}}
    for attack in attacks:
        parts[attack] = {
            kind: one.scores[one.attack[attack]] if kind.endswith("spoof") else one.scores
            for kind, one in classes.items()
        }
    points = {attack: _measured(part, model) for attack, part in parts.items()}
    replicates = _bootstrap(classes, attacks, model, len(codes), intervals, seed) if intervals else None
    rows = []
    for attack, part in parts.items():
        metrics = _metrics(points[attack], model, None if replicates is None else (replicates, attack))
        counts = _counts(part) | ({} if speakers is None else {"speakers": len(known)})
        rows.append(
            Evaluation(
                metrics=metrics,
                counts=counts,
                signature=_signature(name, model, part, counts, replicates, intervals, seed, attack, notes),
                labels={**(labels or {}), "attack": attack},
                flags=_flags(points[attack]) + (() if replicates is None else replicates.flags[attack]),
                curves=_curves(part, model),
                surfaces=_surfaces(part, model) if attack == ALL else {},  # large, so once
            )
        )
    return rows


def _measured(part: Mapping[str, FloatArray], model: CostModel) -> dict[str, float]:
    """Every measure that these scores allow, the most telling first."""
    values: dict[str, float] = {}
    if "asv_spoof" in part:
        asv = part["asv_target"], part["asv_nontarget"], part["asv_spoof"]
        cm = part["cm_bonafide"], part["cm_spoof"]
        rates = asv_rates(*asv, convention=model.convention)
        values["tdcf_min"] = tdcf_min(*cm, rates, model).tdcf_min
        values["tdcf_joint_min"] = tdcf_joint_min(*asv, *cm, model).tdcf_min
        values["teer"] = teer(*asv, *cm, convention=model.convention).teer
        values["asv_eer"] = rates.eer
        values["p_fa_spoof"] = rates.p_fa_spoof
    if "sasv_spoof" in part:
        target, nontarget, spoof = part["sasv_target"], part["sasv_nontarget"], part["sasv_spoof"]
        values["adcf_min"] = adcf_min(target, nontarget, spoof, model).adcf
        values["sv_eer"] = eer(target, nontarget)
        values["spf_eer"] = eer(target, spoof)
    if "cm_spoof" in part:
        cm = part["cm_bonafide"], part["cm_spoof"]
        values["cm_eer"] = cm_eer(*cm)
        values["cm_cllr"] = cm_cllr(*cm)
        values["cm_dcf"] = cm_dcf(*cm, model).dcf
        values["cm_dcf_min"] = cm_dcf_min(*cm, model).dcf
    return values


def _curves(part: Mapping[str, FloatArray], model: CostModel) -> dict[str, Curve]:
    """Cost of the tandem over the countermeasure's threshold, its minimum among the points."""
    if "asv_spoof" not in part:
        return {}
    rates = asv_rates(part["asv_target"], part["asv_nontarget"], part["asv_spoof"], convention=model.convention)
    cost = tdcf_curve(part["cm_bonafide"], part["cm_spoof"], rates, model)
    keep = np.union1d(thinned(len(cost.tdcf)), [int(cost.tdcf.argmin())])
    return {"t_dcf": curve_of(cost.threshold[keep], cost.tdcf[keep])}


def _surfaces(part: Mapping[str, FloatArray], model: CostModel) -> dict[str, Surface]:
    """Cost over both thresholds, the countermeasure's (x) and the verifier's (y)."""
    if "asv_spoof" not in part:
        return {}
    asv_side = part["asv_target"], part["asv_nontarget"], part["asv_spoof"]
    found = tdcf_surface(*asv_side, part["cm_bonafide"], part["cm_spoof"], model, points=_SURFACE_POINTS)
    cm, asv = tuple(found.threshold_cm.tolist()), tuple(found.threshold_asv.tolist())
    return {"t_dcf": Surface(cm, asv, tuple(tuple(line) for line in found.tdcf.tolist()))}


def _methods(model: CostModel) -> dict[str, str]:
    at = f"ASV at its equal-error point ({model.convention})"
    return {
        "tdcf_min": f"{model.form}, {at}",
        "teer": f"concurrent ({model.convention})",
        "p_fa_spoof": at,
        "cm_dcf": "scores as LLRs",
        **dict.fromkeys(("asv_eer", "cm_eer", "sv_eer", "spf_eer"), "interpolated"),
        **dict.fromkeys(("cm_dcf_min", "adcf_min", "tdcf_joint_min"), "best threshold"),
    }


def _metrics(values: Mapping[str, float], model: CostModel, drawn: tuple[_Replicates, str] | None) -> dict[str, Metric]:
    methods, metrics = _methods(model), {}
    for name, value in values.items():
        method, low, high = methods.get(name), None, None
        if drawn is not None:
            replicates, attack = drawn
            found = replicates.values[attack].get(name)
            if found:
                low, high = interval(value, np.array(found), method="percentile")
                method = "; ".join(filter(None, (method, f"interval by {replicates.unit}")))
        metrics[name] = Metric(value, CATALOGUE[name].unit, method, low, high)
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
                measured = _measured(part, model)
            except InputError:  # a class that nobody drawn has, or a legacy cost that is undefined for this draw
                lost[row] += 1
                continue
            for name, value in measured.items():
                values[row].setdefault(name, []).append(value)
    alone = {kind: int(np.count_nonzero(one.speaker < 0)) for kind, one in classes.items()}
    single, total = sum(alone.values()), sum(len(one.scores) for one in classes.values())
    flags = []
    if single == total:
        unit = "trial"
        flags.append(
            "speakers-unknown: intervals resample trials, not people, and may be too narrow; give a key or protocol "
            "that names the speakers."
        )
    elif single:
        unit = "speaker+trial"
        which = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in alone.items() if number)
        flags.append(
            f"speakers-partly-unknown: intervals resample speakers, but single trials where nobody said who speaks "
            f"({which}), and may be too narrow; give a key that names them."
        )
    else:
        unit = "speaker"
    if 0 < speakers < FEW_SPEAKERS:
        flags.append(
            f"few-speakers: {speakers} speakers are too few for trustworthy intervals; collect at least {FEW_SPEAKERS}."
        )
    left_out = "replicates-left-out: {} of {} draws had no value (a kind of trial was missing); collect more speakers."
    return _Replicates(
        values,
        unit,
        {row: (*flags, *([left_out.format(lost[row], times)] if lost[row] else [])) for row in rows},
    )


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


def _flags(values: Mapping[str, float]) -> tuple[str, ...]:
    """EERs that say that scores point the wrong way."""
    return tuple(
        f"eer-above-half: the {CATALOGUE[name].title} exceeds 50 %; check that higher scores speak for {kind}."
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


def _signature(
    name: str,
    model: CostModel,
    part: Mapping[str, FloatArray],
    counts: Mapping[str, int],
    replicates: _Replicates | None,
    intervals: int,
    seed: int,
    attack: str,
    notes: Sequence[str],
) -> str:
    sizes = [
        f"{side}:{'+'.join(str(len(values)) for kind, values in part.items() if kind.startswith(f'{side}_'))}"
        for side in ("asv", "sasv", "cm")
        if f"{side}_spoof" in part
    ]
    parts = ["ZE", "tandem", f"preset:{name}", f"form:{model.form}", f"eer:{model.convention}", f"attack:{attack}"]
    parts += [*sizes, f"spk:{counts.get('speakers', 'unknown')}"]
    parts += ["ci:none"] if replicates is None else [f"ci:{replicates.unit}{intervals}:percentile", f"seed:{seed}"]
    parts += [*notes, f"data:sha256:{digest(part.values())[:16]}", f"v:{__version__}"]
    return "|".join(part.replace("|", "/").replace("\n", " ") for part in parts)
