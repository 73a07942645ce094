"""Warnings on results: each says why it matters and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zeroevidence.evaluation.results import Evaluation, Metric

FEW_SPEAKERS = 15
_ALPHA = 0.05
# Attackers from the cheapest to the best informed; a better informed one should not learn less.
_ATTACKERS = ("ignorant", "lazy-informed", "semi-informed")


def row_flags(
    metrics: Mapping[str, Metric],
    counts: Mapping[str, int],
    *,
    notes: Sequence[str] = (),
    unit: str | None = None,
    clusters: int = 0,
    dev_checked: bool | None = None,
) -> tuple[str, ...]:
    """Flags that one row shows by itself."""
    flags = []
    eer = metrics["eer"]
    if isinstance(eer.value, float) and eer.value > 0.5:
        flags.append(
            "eer-above-half: the EER exceeds 50 %, so the scores point the wrong way; check their sign and the key "
            "before reading this as privacy."
        )
    weak = [name for name in ("d_ece", "alid") if _p(metrics.get(name)) is not None]
    if weak and all((_p(metrics[name]) or 0.0) > _ALPHA for name in weak):
        flags.append(
            "attacker-at-chance: this attacker does no better than chance; a weak attack is not evidence of privacy, "
            "so show that it recognises unprotected speech and try a stronger one."
        )
    if unit == "score":
        flags.append(
            "scores-independent: nobody said who was compared with whom, so intervals treat scores as independent and "
            "are too narrow; give identifiers and speakers."
        )
    elif unit == "identifier":
        flags.append(
            "speakers-unknown: intervals resample identifiers, not people, and may be too narrow; name --speakers."
        )
    elif unit == "speaker" and clusters < FEW_SPEAKERS:
        flags.append(
            f"few-speakers: {clusters} speakers are too few for trustworthy intervals; collect at least {FEW_SPEAKERS}."
        )
    if counts.get("incomplete"):
        flags.append(
            f"incomplete-rows: {counts['incomplete']} trials were not compared with every enrolment and are left out "
            "of the search; score all pairs, or the search is over other trials than the rest."
        )
    if dev_checked is False:
        flags.append(
            "overlap-unchecked: speakers are not known on both sides, so nobody checked that development and "
            "evaluation are different people; shared people flatter the attacker."
        )
    for note in notes:
        kind, _, rest = note.partition(":")
        if kind == "duplicates":
            flags.append(
                f"duplicates: pairs scored more than once were reduced ({rest}); find out which score is right."
            )
        elif kind == "missing":
            flags.append(f"missing: {rest} trials lacked a score or a label and are left out; the rest may be biased.")
    return tuple(flags)


def _p(metric: Metric | None) -> float | None:
    return None if metric is None else metric.p_value


def cross_flags(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Flags that need several rows: a positive control, and attackers in the order of what they know."""
    by_setting: dict[tuple[str | None, ...], list[Evaluation]] = {}
    for row in rows:
        by_setting.setdefault(_setting(row), []).append(row)
    return [replace(row, flags=(*row.flags, *_compared(row, by_setting[_setting(row)]))) for row in rows]


def _setting(row: Evaluation) -> tuple[str | None, ...]:
    return tuple(row.labels.get(name) for name in ("dataset", "split", "sex"))


def _compared(row: Evaluation, others: Sequence[Evaluation]) -> list[str]:
    flags = []
    name = row.labels.get("attacker", "").partition(" (")[0]
    plain = [other for other in others if other.labels.get("attacker", "").startswith("unprotected")]
    if name in _ATTACKERS and not plain:
        flags.append(
            "no-positive-control: no row shows this attacker on unprotected speech, so its failure may be its own; add "
            "original against original."
        )
    if name == "unprotected" and (_p(row.metrics.get("d_ece")) or 0.0) > _ALPHA:
        flags.append(
            "control-failed: the attacker does not recognise even original speech, so nothing follows from its failure "
            "on protected speech."
        )
    if name in _ATTACKERS:
        system = row.labels.get("system")
        for other in others:
            cheaper = other.labels.get("attacker", "").partition(" (")[0]
            if (
                cheaper in _ATTACKERS[: _ATTACKERS.index(name)]
                and other.labels.get("system") == system
                and _value(other) > _value(row)
            ):
                flags.append(
                    f"weaker-than-cheaper: this attacker learns less than the {cheaper} one, who knows less; report "
                    "the stronger of the two and look for a fault in this one."
                )
    return flags


def _value(row: Evaluation) -> float:
    value = row.metrics["d_ece"].value
    assert isinstance(value, float)
    return value
