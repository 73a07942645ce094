"""Thresholds in words."""

from __future__ import annotations

from zeroevidence.evaluation.rows.threshold import ErrorRate, Threshold
from zeroevidence.uncertainty.level import percent


def threshold_sentence(threshold: Threshold) -> str:
    """Return from which score on to accept, at which prior and costs, and how often that is wrong."""
    costs = f"prior {threshold.prior:g}, cost of a miss {threshold.c_miss:g}, of a false alarm {threshold.c_fa:g}"
    rates = f"misses {_rate(threshold.miss)}, false alarms {_rate(threshold.false_alarm)}"
    known = threshold.miss.low is not None
    level = f" with {percent(threshold.level)} intervals" if known else ", whose intervals need ten known speakers"
    fitted = "calibrated on other people" if threshold.calibrated_elsewhere else "calibrated on these scores themselves"
    return (
        f"Threshold ({costs}): accept scores from {threshold.score:.4g} on, where the LLR is {threshold.llr:.3g}; "
        f"{rates}{level}; DCF {threshold.dcf:.3g}; {fitted}."
    )


def _rate(rate: ErrorRate) -> str:
    value = f"{100 * rate.value:.3g} %"
    return value if rate.low is None or rate.high is None else f"{value} [{100 * rate.low:.3g}, {100 * rate.high:.3g}]"
