"""How labels and numbers are written in tables: one place, so that every table writes them alike."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, Metric
from zeroevidence.measure.catalogue import CATALOGUE

LABELS = ("system", "dataset", "attribute", "class", "split", "sex", "enrolment", "trial", "attacker", "backend")
_UNITS = ("bit", "bit per dimension", "log10 LR", "dB")
HEADLINE = (
    "eer",
    "cllr_min",
    "d_ece",
    "worst_case",
    "tag",
    "linkability",
    "mutual_information",
    "alid",
    "pdr",
    "lid_max",
    "top1",
    "link_probability",
    "deid",
    "voice_distinctiveness_gain",
    "tdcf_min",
    "teer",
    "adcf_min",
    "asv_eer",
    "p_fa_spoof",
    "sv_eer",
    "spf_eer",
    "cm_eer",
    "cm_dcf_min",
)


def heading(name: str) -> str:
    """Column heading with its unit."""
    entry = CATALOGUE[name]
    unit = "%" if entry.unit == "rate" else entry.unit if entry.unit in _UNITS else ""
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


def value(metric: Metric) -> str:
    """The value alone; several values as `key: value` with commas between."""
    if isinstance(metric.value, (str, float, int)):
        return number(metric.value, metric.unit)
    return ", ".join(f"{key}: {number(one, metric.unit)}" for key, one in metric.value.items())


def bounds(metric: Metric) -> str:
    """The interval, where there is one."""
    if metric.low is None or metric.high is None:
        return ""
    return f"[{number(metric.low, metric.unit)}, {number(metric.high, metric.unit)}]"


def under_null(metric: Metric) -> str:
    """What the measure shows when nothing leaks: mean, 95 % quantile, and how often it is as large as observed."""
    if metric.null is None or metric.p_value is None:
        return ""
    mean, q95 = number(metric.null["mean"], metric.unit), number(metric.null["q95"], metric.unit)
    return f"{mean} (95 %: {q95}), p = {metric.p_value:.2g}"


def cell(metric: Metric | None) -> str:
    """A value and its interval."""
    if metric is None:
        return ""
    return f"{value(metric)} {bounds(metric)}".rstrip()


def size(row: Evaluation, plus: str = "+") -> str:
    """How many scores of each class a row rests on."""
    one_system = "target" in row.counts
    names = ("target", "nontarget", "spoof") if one_system else tuple(name for name in row.counts if name != "speakers")
    return plus.join(str(row.counts[name]) for name in names if name in row.counts)


def used_labels(rows: Sequence[Evaluation]) -> list[str]:
    """Labels that at least one row carries, in the usual order, others after them."""
    present = {name for row in rows for name in row.labels}
    return [name for name in LABELS if name in present] + sorted(present - set(LABELS))


def used_headline(rows: Sequence[Evaluation]) -> list[str]:
    """Headline measures that at least one row has."""
    return [name for name in HEADLINE if any(name in row.metrics for row in rows)]


def flag_lines(rows: Sequence[Evaluation]) -> list[str]:
    """Each flag once, with the numbers of the rows that have it where there are several rows."""
    flags: dict[str, list[str]] = {}
    for position, row in enumerate(rows, 1):
        for flag in row.flags:
            flags.setdefault(flag, []).append(str(position))
    if len(rows) == 1:
        return list(flags)
    return [f"{flag} (row{'s' if len(whose) > 1 else ''} {', '.join(whose)})" for flag, whose in flags.items()]
