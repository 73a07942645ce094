"""A decision threshold: the score from which on two recordings are taken to be of one speaker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """A rate of wrong decisions, with its interval for people like these where people are known and enough."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """The threshold of the cheapest decision at a prior and costs, and what it costs.

    Parameters
    ----------
    score
        Scores from this one on are accepted; infinite where accepting never pays.
    llr
        The natural log-likelihood ratio that it stands for.
    prior
        Prior probability of a target.
    c_miss
        Cost of a miss.
    c_fa
        Cost of a false alarm.
    miss
        Rate of targets below the threshold.
    false_alarm
        Rate of non-targets from the threshold on.
    dcf
        Detection cost, divided by that of the better blind decision.
    calibrated_elsewhere
        Whether scores became likelihood ratios on other data; otherwise on these scores themselves.
    level
        Confidence level of the intervals.
    """

    score: float
    llr: float
    prior: float
    c_miss: float
    c_fa: float
    miss: ErrorRate
    false_alarm: ErrorRate
    dcf: float
    calibrated_elsewhere: bool
    level: float
