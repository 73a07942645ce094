"""How labels and numbers are written in tables: one place, so that every table writes them alike."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, Metric
from zeroevidence.measure.catalogue import CATALOGUE

LABELS = ("system", "dataset", "split", "sex", "enrolment", "trial", "attacker")
HEADLINE = (
    "eer",
    "cllr_min",
    "d_ece",
    "worst_case",
    "tag",
    "linkability",
    "alid",
    "pdr",
    "lid_max",
    "top1",
    "link_probability",
    "deid",
    "voice_distinctiveness_gain",
)


def heading(name: str) -> str:
    """Column heading with its unit."""
    entry = CATALOGUE[name]
    unit = {"rate": "%", "bit": "bit", "log10 LR": "log10 LR", "dB": "dB"}.get(entry.unit)
    return f"{entry.title} [{unit}]" if unit else entry.title


def number(value: object, unit: str) -> str:
    """A value for people: rates in percent, four digits elsewhere."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    assert isinstance(value, float)
    if unit == "rate":
        return f"{100 * value:.2f}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.4g}"


def cell(metric: Metric | None) -> str:
    """A value and its interval."""
    if metric is None:
        return ""
    if isinstance(metric.value, (str, float, int)):
        text = number(metric.value, metric.unit)
        if metric.low is not None and metric.high is not None:
            text += f" [{number(metric.low, metric.unit)}, {number(metric.high, metric.unit)}]"
        return text
    return ", ".join(f"{key}: {number(value, metric.unit)}" for key, value in metric.value.items())


def used_labels(rows: Sequence[Evaluation]) -> list[str]:
    """Labels that at least one row carries, in the usual order, others after them."""
    present = {name for row in rows for name in row.labels}
    return [name for name in LABELS if name in present] + sorted(present - set(LABELS))


def used_headline(rows: Sequence[Evaluation]) -> list[str]:
    """Headline measures that at least one row has."""
    return [name for name in HEADLINE if any(name in row.metrics for row in rows)]
