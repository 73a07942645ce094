"""Spread of a tandem's measures, by leaving out speakers and attacks in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.flags import Flag, flag, resampling_flags
from zeroevidence.evaluation.tandem.classes import ALL, TrialClass, scores_by_attack
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.tandem.cost import CostModel
from zeroevidence.measure.tandem.view import TandemView
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.resampling.draws import draw_groups, generator
from zeroevidence.uncertainty.spread import Spread, effective_number, estimate_spread

_LEAST_ATTACKS = 6  # fewer do not tell what other attacks are like


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
        for row, part in _parts(classes, remaining, attacks):
            values[row].append(_measured(part, model))
    left_out_attacks = _without_attacks(classes, model)
    whole = {row: _measured(part, model) for row, part in scores_by_attack(classes, attacks).items()}
    spreads = {row: _spreads(whole[row], values[row], groups) for row in rows}
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


def _spreads(whole: Mapping[str, float], values: Sequence[Mapping[str, float]], groups: _Groups) -> dict[str, Spread]:
    spreads = {}
    for name, value in whole.items() if groups.clusters >= LEAST_PEOPLE else ():
        left_out = np.array([replicate.get(name, np.nan) for replicate in values])
        spread = estimate_spread(value, left_out, groups.shares, groups.people)
        if spread is not None:
            spreads[name] = spread
    return spreads


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
    joined = {}
    for name, spread in spreads.items():
        values = np.array([part.get(name, np.nan) for part in without])
        attacks = estimate_spread(0.0, values, shares, float(len(without)))
        joined[name] = spread if attacks is None else spread.combine(attacks)
    return joined


def _unit(alone: Mapping[str, int], single: int, total: int) -> tuple[str, list[Flag]]:
    """Return the unit that was left out, and flags where not all speakers are known."""
    if single == total:
        remedy = "give a key or protocol that names the speakers"
        return "trial", [flag("speakers-unknown", unit="trial", remedy=remedy)]
    if single:
        which = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in alone.items() if number)
        return "speaker+trial", [flag("speakers-partly-unknown", which=which)]
    return "speaker", []


def _parts(
    classes: Mapping[str, TrialClass], remaining: Mapping[str, BoolArray], attacks: Sequence[str]
) -> Iterator[tuple[str, dict[str, FloatArray]]]:
    """The scores that are kept, for all attacks and for each; still ascending, so sorting them again is quick."""
    whole = {kind: trials.scores[remaining[kind]] for kind, trials in classes.items()}
    yield ALL, whole
    for attack in attacks:
        scores = {
            kind: trials.scores[trials.attack[attack]][remaining[kind][trials.attack[attack]]]
            for kind, trials in classes.items()
            if kind.endswith("spoof")
        }
        yield attack, {**whole, **scores}
