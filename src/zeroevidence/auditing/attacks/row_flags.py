"""Flags on the rows of an audit: steps weaker than cheaper ones, choices that evaluated people contradict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.finding import clearly_stronger
from zeroevidence.evaluation.rows.flags import flag

_PER_SPEAKER = 0.5  # share of the change that recordings of one person have in common


def with_step_flags(rows: Sequence[Evaluation], costs: Mapping[str, int]) -> list[Evaluation]:
    """Return the rows with a warning where a cheaper step against the same system learns clearly more."""
    cheaper = [_cheaper_step(row, rows, costs) for row in rows]
    return [
        row if step is None else row.with_flags(flag("weaker-than-cheaper-step", cheaper=step))
        for row, step in zip(rows, cheaper, strict=True)
    ]


def _cheaper_step(row: Evaluation, rows: Sequence[Evaluation], costs: Mapping[str, int]) -> str | None:
    high = row.metrics["alid"].high if row.about.role == "attack" and "alid" in row.metrics else None
    if high is None:
        return None
    for other in rows:
        if (
            other.about.threat == row.about.threat
            and other.labels.get("encoder") == row.labels.get("encoder")
            and costs.get(other.labels["backend"], inf) < costs.get(row.labels["backend"], inf)  # a fusion has them all
            and (other.number("alid") or 0.0) > high
        ):
            return other.labels["backend"]
    return None


def with_choice_flags(rows: Sequence[Evaluation], finding: Finding) -> list[Evaluation]:
    """Return the rows with a warning on the strongest where another learns clearly more from the evaluated people."""
    attacks = [i for i, row in enumerate(rows) if row.about.role == "attack"]
    number = clearly_stronger(rows, finding.strongest, attacks, "alid")
    if number is None:
        return list(rows)
    best = rows[number]
    name = ", ".join(filter(None, (str(best.labels.get("encoder", "")), best.labels["backend"])))
    return [
        row.with_flags(flag("development-disagrees", better=name)) if i == finding.strongest else row
        for i, row in enumerate(rows)
    ]


def with_draw_flags(rows: Sequence[Evaluation], share: float) -> list[Evaluation]:
    """Return the rows, attacks with a note where the protection seems to be drawn once for each speaker."""
    if share < _PER_SPEAKER:
        return list(rows)
    note = flag("drawn-per-speaker", share=share)
    return [replace(row, flags=(*row.flags, note)) if row.about.role == "attack" else row for row in rows]
