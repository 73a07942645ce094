"""One call: the scores of a tandem in, one `Evaluation` for all attacks and one for each out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import rank_names
from zeroevidence.data.formats.asvspoof import LoadedTandem
from zeroevidence.data.scores import TandemScores, TrialScores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.curves import tandem_curves, tandem_profiles, tandem_surfaces
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag, is_above_half, relaxed_flags, resampling_flags
from zeroevidence.evaluation.rows.measure_result import MeasureResult, with_limits
from zeroevidence.evaluation.rows.setup import Resampling, Setup, TandemSetup, digest, exact_number
from zeroevidence.measure.measures import MEASURES, compute_family
from zeroevidence.measure.tandem.cost import PRESETS, CostModel
from zeroevidence.measure.tandem.thresholds import TandemView
from zeroevidence.run import Run
from zeroevidence.uncertainty.groups import draw_groups, generator
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import Spread, effective_number, estimate_spreads

ALL = "all"
# by measure, what higher scores speak for
_SPOKEN_FOR = {"asv_eer": "the claimed speaker", "sv_eer": "the claimed speaker", "cm_eer": "bona fide speech"}
_LEAST_ATTACKS = 6  # fewer do not tell what other attacks are like


@dataclass(frozen=True, slots=True, eq=False)
class TrialClass:
    """Ascending scores of one kind of trial, the speaker of each, and where each attack's stand.

    `speaker` is the claimed one and `heard` the one who spoke; -1 where unknown, or where nobody spoke.
    """

    scores: FloatArray
    speaker: IntArray
    heard: IntArray
    attack: Mapping[str, IntArray]

    @property
    def is_labelled(self) -> bool:
        """Whether the attack of every trial is known."""
        return bool(self.attack) and "" not in self.attack

    @classmethod
    def of(cls, trials: TrialScores, codes: Mapping[str, int], spoken: Mapping[str, int]) -> TrialClass:
        """Trials of one kind, by the codes of speakers and by who spoke each utterance."""
        # equal scores by what is known of them, so that the order of a file is nothing
        ranks = [rank_names(names)[1] for names in (trials.attacks, trials.speakers) if names is not None]
        order = np.lexsort((*ranks, trials.scores))
        names = np.full(len(trials), "") if trials.speakers is None else trials.speakers[order]
        distinct, inverse = np.unique(names, return_inverse=True)
        speaker = np.array([codes.get(str(name), -1) for name in distinct], dtype=np.int64)[inverse]
        made = {} if trials.attacks is None else _positions(trials.attacks[order])
        heard = np.full(len(trials), -1, dtype=np.int64)
        if trials.utterances is not None and spoken:
            utterances, place = np.unique(trials.utterances[order], return_inverse=True)
            heard = np.array([spoken.get(str(utterance), -1) for utterance in utterances], dtype=np.int64)[place]
        return cls(trials.scores[order].astype(np.float64), speaker, heard, made)


def trial_classes(scores: TandemScores) -> tuple[dict[str, TrialClass], list[str]]:
    """The scores of each kind of trial, and the names of the speakers."""
    speakers = [] if scores.speakers is None else [str(speaker) for speaker in scores.speakers]
    codes = {speaker: code for code, speaker in enumerate(speakers)} if len(speakers) > 1 else {}
    spoken = _spoken(scores, codes)
    return {kind: TrialClass.of(trials, codes, spoken) for kind, trials in scores.classes().items()}, speakers


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


def class_arrays(
    classes: Mapping[str, TrialClass], speakers: Sequence[str]
) -> Iterator[FloatArray | IntArray | StrArray]:
    """Yield everything about the trials that enters a digest: scores, attacks, speakers and their names."""
    yield np.array(speakers, dtype=np.str_)
    for kind, trials in classes.items():
        yield np.array([kind, *trials.attack])
        yield trials.scores
        yield from (trials.speaker, trials.heard, *trials.attack.values())


def scores_by_attack(
    classes: Mapping[str, TrialClass], attacks: Sequence[str], remaining: Mapping[str, BoolArray] | None = None
) -> dict[str, dict[str, FloatArray]]:
    """Scores by kind of trial for all attacks and for each; ascending also where only some trials remain."""
    if remaining is None:
        remaining = {kind: np.ones(len(trials.scores), dtype=bool) for kind, trials in classes.items()}
    parts = {ALL: {kind: trials.scores[remaining[kind]] for kind, trials in classes.items()}}
    for attack in attacks:
        parts[attack] = parts[ALL] | {
            kind: trials.scores[trials.attack[attack]][remaining[kind][trials.attack[attack]]]
            for kind, trials in classes.items()
            if kind.endswith("spoof")
        }
    return parts


def attacks_of(scores: TandemScores, classes: Mapping[str, TrialClass]) -> list[str]:
    """The attacks that every side has spoofs of."""
    spoofs = {kind: spoof_trials for kind, spoof_trials in classes.items() if kind.endswith("spoof")}
    for kind, trials in scores.classes().items():
        if kind in spoofs and (trials.attacks is None or (trials.attacks == "").any()):
            number = len(trials) if trials.attacks is None else int((trials.attacks == "").sum())
            raise InputError(f"{number} of {len(trials)} {kind} scores have no attack label; expected one for each")
    for kind, spoof_trials in spoofs.items():
        for other, theirs in spoofs.items():
            lacking = sorted(set(spoof_trials.attack) - set(theirs.attack))
            if lacking:
                raise InputError(f"attack {lacking[0]!r} has {kind} scores but no {other} scores")
    return sorted(next(iter(spoofs.values())).attack)


def _positions(names: np.ndarray[tuple[int], np.dtype[np.str_]]) -> dict[str, IntArray]:
    return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}


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
class TandemSpreads:
    """Spread of each row's measures, and what was left out."""

    spreads: dict[str, dict[str, Spread]]
    unit: str  # speaker, trial, or speaker+trial where only some speakers are known
    by_attack: bool  # whether the row of all attacks was also measured without each of them
    groups: int
    flags: dict[str, tuple[Flag, ...]]


def tandem_spreads(
    classes: Mapping[str, TrialClass], attacks: Sequence[str], model: CostModel, most: int, seed: int
) -> TandemSpreads:
    """Spreads of the row of all attacks and of each, from at most `most` groups of speakers left out in turn."""
    groups = _groups(classes, most, seed)
    rows = [ALL, *attacks]
    values: dict[str, list[dict[str, float]]] = {row: [] for row in rows}
    for g in range(groups.number):
        remaining = {kind: (groups.of[kind] != g) & (groups.heard[kind] != g) for kind in classes}
        for row, part in scores_by_attack(classes, attacks, remaining).items():
            values[row].append(_measured(part, model))
    left_out_attacks = _without_attacks(classes, model)
    whole = {row: _measured(part, model) for row, part in scores_by_attack(classes, attacks).items()}
    enough = groups.clusters >= LEAST_PEOPLE
    spreads = {
        row: estimate_spreads(whole[row] if enough else {}, values[row], groups.shares, groups.people) for row in rows
    }
    spreads[ALL] = _widened(spreads[ALL], left_out_attacks)
    alone = {kind: int(np.count_nonzero(trials.speaker < 0)) for kind, trials in classes.items()}
    unit, flags = _unit(alone, sum(alone.values()), sum(len(trials.scores) for trials in classes.values()))
    if unit == "speaker":
        flags += resampling_flags(unit, groups.clusters, groups.people)
    lost = {row: sum(not replicate for replicate in values[row]) for row in rows}
    missing = {row: [flag("values-left-out", lost=n, times=groups.number)] if n else [] for row, n in lost.items()}
    found_flags = {row: (*flags, *missing[row]) for row in rows}
    return TandemSpreads(spreads, unit, bool(left_out_attacks), groups.number, found_flags)


def _measured(part: Mapping[str, FloatArray], model: CostModel) -> dict[str, float]:
    """The measures; none where a class is empty, or a legacy cost is not defined."""
    try:
        values = compute_family("tandem", TandemView(part, model))
        return {name: value for name, value in values.items() if isinstance(value, float)}
    except InputError:
        return {}


def _groups(classes: Mapping[str, TrialClass], most: int, seed: int) -> _Groups:
    """Speakers, or groups of them; trials of unknown speakers are dealt to these, or to groups of their own."""
    rng = generator(seed, 3, 0)
    speakers = 1 + max(int(trials.speaker.max(initial=-1)) for trials in classes.values())
    clusters = speakers if speakers > 1 else min(len(trials.scores) for trials in classes.values())
    number = min(most, clusters)
    group = draw_groups(speakers, most, seed) if speakers > 1 else np.empty(0, dtype=np.int64)
    of, effective, shares = {}, [], np.zeros(number)
    for kind, trials in classes.items():
        dealt = rng.permutation(np.arange(len(trials.scores)) % number)
        named = trials.speaker >= 0
        of[kind] = np.where(named, np.append(group, 0)[trials.speaker], dealt)
        shares = np.maximum(shares, np.bincount(of[kind], minlength=number) / len(trials.scores))
        people = effective_number(np.bincount(trials.speaker[named]).astype(float)) if named.any() else 0.0
        effective.append(people + float(np.count_nonzero(~named)))
    heard = {
        kind: np.where(trials.heard >= 0, np.append(group, 0)[trials.heard], -1) for kind, trials in classes.items()
    }
    return _Groups(of, heard, number, clusters, min(effective), shares)


def _without_attacks(classes: Mapping[str, TrialClass], model: CostModel) -> list[dict[str, float]]:
    """Return the measures without each attack; none where attacks are too few to stand for others."""
    spoofs = {kind: trials for kind, trials in classes.items() if kind.endswith("spoof")}
    names = sorted({name for trials in spoofs.values() for name in trials.attack})
    if len(names) < _LEAST_ATTACKS or not all(trials.is_labelled for trials in spoofs.values()):
        return []
    values = []
    for name in names:
        part = {kind: trials.scores for kind, trials in classes.items()}
        for kind, trials in spoofs.items():
            part[kind] = np.delete(trials.scores, trials.attack.get(name, np.empty(0, dtype=np.int64)))
        values.append(_measured(part, model))
    return values


def _widened(spreads: Mapping[str, Spread], without: Sequence[Mapping[str, float]]) -> dict[str, Spread]:
    """Spreads that also hold for other attacks."""
    if not without:
        return dict(spreads)
    shares = np.full(len(without), 1.0 / len(without))
    attacks = estimate_spreads(dict.fromkeys(spreads, 0.0), without, shares, float(len(without)))
    return {name: spread.combine(attacks[name]) if name in attacks else spread for name, spread in spreads.items()}


def _unit(alone: Mapping[str, int], single: int, total: int) -> tuple[str, list[Flag]]:
    """Return the unit that was left out, and flags where not all speakers are known."""
    if single == total:
        remedy = "give a key or protocol that names the speakers"
        return "trial", [flag("speakers-unknown", unit="trial", remedy=remedy)]
    if single:
        which = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in alone.items() if number)
        return "speaker+trial", [flag("speakers-partly-unknown", which=which)]
    return "speaker", []


def evaluate_tandem(
    scores: TandemScores | LoadedTandem,
    by: str | None = None,
    *,
    model: CostModel | str = "2021",
    intervals: int = 200,
    run: Run = Run(),
    labels: Mapping[str, str] | None = None,
) -> list[Evaluation]:
    """Measure what a verifier behind a countermeasure costs; or either a countermeasure or a single system alone.

    Parameters
    ----------
    scores
        Scores of a tandem, or what `read_tandem` gave.
    by
        ``attack``: also a row for each attack, all sharing the bona fide speech and the verifier's threshold; else the
        column that scores were read by, which labels a row for each of its values.
    model
        The costs, or the name of a preset.
    intervals
        How many groups of speakers are left out in turn at most for the intervals, 0 for none. Speakers are left
        out with all their trials on all sides; trials of unknown speakers are dealt to the groups. Where there are
        enough attacks, the interval of all attacks together is one for other attacks like these. Methods, flags and
        signature say what was done.
    run
        Level of the intervals, and seed of the groups that are drawn.
    labels
        What the scores are of.

    The pooled row comes first, its attack being ``all``, then one for each attack.

    Examples
    --------
    >>> from zeroevidence import TandemScores
    >>> scores = TandemScores.of(cm_bonafide=[2.0, 3.0, 1.0], cm_spoof=[-1.0, 0.0, 1.5])
    >>> (row,) = evaluate_tandem(scores, intervals=0)
    >>> round(float(row["cm_eer"]), 3)
    0.333
    """
    if intervals < 0:
        raise InputError(f"expected a number of replicates from 0 on, got {intervals}")
    loaded = LoadedTandem(scores, {}, None, ()) if isinstance(scores, TandemScores) else scores
    name, model = _named_costs(model)
    costs = TandemSetup(name, model.form, model.convention, ALL, loaded.phase, model.asv_threshold, model.cm_threshold)
    setup = Setup(families=("tandem",), tandem=costs, level=run.level, seed=run.seed, relaxed=loaded.relaxed)
    # values under other costs, or of another form, are on another scale
    shared = {**(labels or {}), "costs": f"{name} ({model.form})"}
    rows = _rows(loaded.data, model, setup, shared, intervals, by_attack=by == "attack")
    for value, part in loaded.parts.items():
        rows += _rows(part, model, setup, {**shared, str(by): value}, intervals)
    return rows


def _rows(
    scores: TandemScores,
    model: CostModel,
    setup: Setup,
    labels: Mapping[str, str],
    intervals: int,
    *,
    by_attack: bool = False,
) -> list[Evaluation]:
    """The row of all attacks together, then one for each where asked."""
    classes, speakers = trial_classes(scores)
    attacks = attacks_of(scores, classes) if by_attack else []
    drawn = tandem_spreads(classes, attacks, model, intervals, setup.seed) if intervals else None
    setup = replace(
        setup,
        intervals=None if drawn is None else Resampling(drawn.unit, drawn.groups),
        data=digest(class_arrays(classes, speakers)),
    )
    assert setup.tandem is not None
    counted, rows = {} if scores.speakers is None else {"speakers": len(speakers)}, []
    for attack, part in scores_by_attack(classes, attacks).items():
        view = TandemView(part, model)
        metrics = _metrics(view, drawn, attack, setup.level)
        row = Evaluation(
            metrics=metrics,
            counts=_counts(part) | counted,
            setup=replace(setup, tandem=replace(setup.tandem, attack=attack)),
            labels=labels,
            about=About(question="spoofing", attack=attack),
            flags=(
                *_flags(metrics, counted.get("speakers") or min(map(len, part.values()))),
                *(() if drawn is None else drawn.flags[attack]),
                *relaxed_flags(setup.relaxed),
            ),
            curves=tandem_curves(view) | tandem_profiles(view),
            surfaces=tandem_surfaces(view) if attack == ALL else {},  # large, so once
        )
        rows.append(row)
    return rows


def _metrics(view: TandemView, drawn: TandemSpreads | None, attack: str, level: float) -> dict[str, MeasureResult]:
    unit = "" if drawn is None else f"{drawn.unit} and attack" if drawn.by_attack and attack == ALL else drawn.unit
    metrics = {}
    for name, value in compute_family("tandem", view).items():
        result = MeasureResult.of(name, value, MEASURES[name].method_of(view))
        spread = None if drawn is None else drawn.spreads[attack].get(name)
        method = "; ".join(filter(None, (result.method, f"interval by {unit}")))
        metrics[name] = with_limits(result, name, spread, level, method=method)
    return metrics


def _counts(part: Mapping[str, FloatArray]) -> dict[str, int]:
    """Trials of the verifier (or single system) by kind, then those of the countermeasure."""
    main = "asv" if "asv_spoof" in part else "sasv"
    counts = {
        kind: len(part[f"{main}_{kind}"]) for kind in ("target", "nontarget", "spoof") if f"{main}_{kind}" in part
    }
    return counts | {kind: len(values) for kind, values in part.items() if not kind.startswith(f"{main}_")}


def _flags(metrics: Mapping[str, MeasureResult], independent: int) -> tuple[Flag, ...]:
    """Return flags on EERs that exceed one half beyond their intervals."""
    return tuple(
        flag("eer-above-half", measure=MEASURES[name].title, kind=kind)
        for name, kind in _SPOKEN_FOR.items()
        if name in metrics and is_above_half(metrics[name], independent)
    )


def _named_costs(model: CostModel | str) -> tuple[str, CostModel]:
    """Return the name of the priors and costs, without thresholds, and the model."""
    if isinstance(model, str):
        return model, CostModel.preset(model)
    costs = replace(model, asv_threshold=None, cm_threshold=None)
    name = next((name for name, preset in PRESETS.items() if preset == costs), None)
    numbers = [value for value in (*astuple(costs), *(costs.asv or ())) if isinstance(value, float)]
    return name or "/".join(map(exact_number, numbers)), model
