"""Spread of a tandem's measures: speakers with all their trials, and attacks, are left out in turn."""

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
        kept = {kind: (groups.of[kind] != g) & (groups.heard[kind] != g) for kind in classes}
        for row, part in _parts(classes, kept, attacks):
            values[row].append(_measured(part, model))
    left_out_attacks = _without_attacks(classes, model)
    whole = {row: _measured(part, model) for row, part in scores_by_attack(classes, attacks).items()}
    spreads = {row: _spreads(whole[row], values[row], groups) for row in rows}
    spreads[ALL] = _widened(spreads[ALL], left_out_attacks)
    alone = {kind: int(np.count_nonzero(one.speaker < 0)) for kind, one in classes.items()}
    unit, flags = _unit(alone, sum(alone.values()), sum(len(one.scores) for one in classes.values()))
    if unit == "speaker":
        flags += resampling_flags(unit, groups.clusters, groups.people)
    lost = {row: sum(not one for one in values[row]) for row in rows}
    missing = {row: [flag("values-left-out", lost=n, times=groups.number)] if n else [] for row, n in lost.items()}
    found_flags = {row: (*flags, *missing[row]) for row in rows}
    return TandemSpreads(spreads, unit, bool(left_out_attacks), groups.number, found_flags)


def _measured(part: Mapping[str, FloatArray], model: CostModel) -> dict[str, float]:
    """The measures; none where a class is empty, or a legacy cost is not defined."""
    try:
        found = compute_family("tandem", TandemView(part, model))
        return {name: value for name, value in found.items() if isinstance(value, float)}
    except InputError:
        return {}


def _groups(classes: Mapping[str, TrialClass], most: int, seed: int) -> _Groups:
    """Speakers, or groups of them; trials of unknown speakers are dealt to these, or to groups of their own."""
    rng = generator(seed, 3, 0)
    speakers = 1 + max(int(one.speaker.max(initial=-1)) for one in classes.values())
    clusters = speakers if speakers > 1 else min(len(one.scores) for one in classes.values())
    number = min(most, clusters)
    group = draw_groups(speakers, most, seed) if speakers > 1 else np.empty(0, dtype=np.int64)
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
        spread = estimate_spread(value, left_out, groups.shares, groups.people)
        if spread is not None:
            found[name] = spread
    return found


def _without_attacks(classes: Mapping[str, TrialClass], model: CostModel) -> list[dict[str, float]]:
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
        attacks = estimate_spread(0.0, values, shares, float(len(without)))
        found[name] = one if attacks is None else one.combine(attacks)
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
    classes: Mapping[str, TrialClass], kept: Mapping[str, BoolArray], attacks: Sequence[str]
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
