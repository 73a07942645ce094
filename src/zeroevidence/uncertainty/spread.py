"""Spread, bias and limits of estimates from few people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence._scipy import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri, stdtr, stdtrit
from zeroevidence._typing import FloatArray
from zeroevidence.measure.measures import IntervalRule
from zeroevidence.run import LEVEL
from zeroevidence.uncertainty.recordings import RecordingNumbers

_LEAST_TAIL = 1e-12
_KURTOSIS = 3.0  # of a Gaussian
_MOST_PEOPLE = 1e6
_UNSEEN_TAIL = 0.025
_LEAST_SKEWNESS = 1e-3
_ROUNDING = 1e-12
_NEGLIGIBLE = 1e-3
_FAR = 2.0  # steps in logarithms of odds, beyond which these grow in proportion
_LARGE = 1e60  # fourth powers of more would not be numbers
_RATES = {"oracle": 3.0 / 4.0, "kernel": 1.0 / 2.0, "entropy": 1.0}


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread of a value, from which its limits follow.

    Two kinds of limits follow. The interval is for people like those seen: the standard error comes from values
    without one person at a time (both as enrolled and as heard), with a t quantile for an effective number of people,
    in which a few who speak most of the time count as few, and corrected for skewness, because exposure of people has
    a long tail. One-sided limits allow in addition for people who were not seen. If none of n people is of a kind, up
    to 1 - tail^(1/n) of all people may be, as Clopper and Pearson say of rates; such people are recognised in every
    recording, or not at all. And where numbers of recordings have a heavy tail, the sample may lack the people who
    speak most. The interval allows for people who are not recognised too, since one-sided limits are on the other side;
    where people do not differ at all, it is all of the first of these allowances.

    Parameters
    ----------
    error
        Standard error.
    people
        Effective number of people.
    freedom
        Degrees of freedom of the standard error.
    below
        How much lower the value may be for people of a kind that is not in the sample.
    above
        How much higher it may be for such people.
    skewness
        Skewness of the value over samples of people.
    talkative_below
        How much lower the value may be for people who speak more than anybody in the sample.
    talkative_above
        How much higher it may be for such people.
    hidden
        How much the value changes for people who are not recognised at all.
    tail
        Power of the share of unseen people at which the share of their recordings grows: 1 where everybody speaks as
        often, near 0 where a few make nearly all recordings.

    Examples
    --------
    >>> no_error = Spread(error=0.0, people=30.0, freedom=29.0, below=0.0, above=1.0)
    >>> [round(limit, 3) for limit in no_error.limits(0.0)]
    [0.0, 0.116]
    """

    error: float
    people: float
    freedom: float
    below: float
    above: float
    skewness: float = 0.0
    talkative_below: float = 0.0
    talkative_above: float = 0.0
    hidden: float = 0.0
    tail: float = 1.0

    def limits(self, value: float, level: float = LEVEL) -> tuple[float, float]:
        """Return two-sided limits of a value, for people like those seen."""
        tail = (1.0 - level) / 2.0
        if self.error == 0.0:
            share = self._unseen_share(tail)
            return value - share * self.below, value + share * self.above
        return self._with_hidden(value, self._sampled(tail, -self.skewness), self._sampled(tail, self.skewness), tail)

    def limits_within(self, value: float, ends: tuple[float, float], level: float = LEVEL) -> tuple[float, float]:
        """Return two-sided limits on the scale of odds between two ends, or of the distance to the only finite one.

        Near an end people can differ on the other side alone, so that a limit there lies farther away; how much farther
        follows from the range, and not from a third moment, which one or two people would decide. Where the end is no
        farther than the error, limits move away with the error no faster than in proportion.

        Examples
        --------
        >>> spread = Spread(error=0.05, people=30.0, freedom=29.0, below=0.0, above=0.0)
        >>> [round(limit, 2) for limit in spread.limits_within(0.9, (0.0, 1.0))]
        [0.74, 0.97]
        """
        below, above = value - ends[0], ends[1] - value
        if self.error == 0.0 or min(below, above) <= 0.0:
            return self.limits(value, level)
        tail = (1.0 - level) / 2.0
        reach = self._sampled(tail, 0.0)
        steps = reach * (1.0 / below + 1.0 / above)
        if steps == 0.0:
            return self._with_hidden(value, reach, reach, tail)
        growth = math.exp(min(steps, _FAR)) * max(1.0, 1.0 + steps - _FAR)
        down, up = (growth - 1.0) / (1.0 / above + growth / below), (growth - 1.0) / (1.0 / below + growth / above)
        return self._with_hidden(value, down, up, tail)

    def at_least(self, value: float, level: float = LEVEL) -> float:
        """Return the one-sided lower limit of a value, which allows for people who were not seen."""
        return value - self._reach(self.below, self.talkative_below, 1.0 - level, -self.skewness)

    def at_most(self, value: float, level: float = LEVEL) -> float:
        """Return the one-sided upper limit of a value, which allows for people who were not seen."""
        return value + self._reach(self.above, self.talkative_above, 1.0 - level, self.skewness)

    def of_people(self, people: float) -> Spread:
        """Return the spread for another number of people like these, recorded in the same way.

        The standard error falls with the square root, and the quantiles follow the number of people. What unseen
        people would change is kept, which is conservative: it falls a little too.

        Examples
        --------
        >>> more = Spread(error=0.02, people=20.0, freedom=19.0, below=0.1, above=0.1).of_people(80.0)
        >>> more.error, more.people, more.freedom
        (0.01, 80.0, 79.0)
        """
        shrunk = float(np.sqrt(self.people / people))
        return replace(
            self,
            error=self.error * shrunk,
            people=people,
            freedom=max(self.freedom + people - self.people, 1.0),
            skewness=self.skewness * min(shrunk, 1.0),
        )

    def people_for(self, reach: float, level: float = LEVEL) -> int | None:
        """Return how many people bring the upper limit within `reach` of the value; None where a million do not.

        Examples
        --------
        >>> Spread(error=0.0, people=10.0, freedom=9.0, below=0.0, above=1.0).people_for(0.05)
        59
        """
        if reach <= 0.0:
            return None
        few, many = 2.0, _MOST_PEOPLE
        if self.of_people(many).at_most(0.0, level) > reach:
            return None
        while many - few > 1.0:
            middle = np.floor((few + many) / 2.0)
            few, many = (few, middle) if self.of_people(middle).at_most(0.0, level) <= reach else (middle, many)
        return int(many)

    def p_value(self, value: float) -> float:
        """Return the two-sided p-value of the hypothesis that the value is 0: the level at which a limit touches it."""
        if value == 0.0 or not np.isfinite(value):
            return 1.0
        if self.error == 0.0:
            change = self.below if value > 0.0 else self.above
            tail = max(0.0, 1.0 - abs(value) / change) ** self.people if change > 0.0 else 0.0
        else:
            quantile = unskewed(abs(value) / self.error, -math.copysign(1.0, value) * self.skewness)
            tail = float(stdtr(self.freedom, -quantile))
        return float(np.clip(2.0 * tail, 2.0 * _LEAST_TAIL, 1.0))

    def combine(self, other: Spread) -> Spread:
        """Return both sources of spread together, by Welch and Satterthwaite."""
        first, second = self.error**2, other.error**2
        both = first + second
        freedom = both**2 / (first**2 / self.freedom + second**2 / other.freedom) if both > 0.0 else self.freedom
        cubes = self.skewness * self.error**3 + other.skewness * other.error**3
        return Spread(
            float(np.sqrt(both)),
            min(self.people, other.people),
            freedom,
            math.hypot(self.below, other.below),
            math.hypot(self.above, other.above),
            cubes / both**1.5 if both > 0.0 else 0.0,
            math.hypot(self.talkative_below, other.talkative_below),
            math.hypot(self.talkative_above, other.talkative_above),
            self.hidden + other.hidden,
            min(self.tail, other.tail),
        )

    def reverse(self) -> Spread:
        """Return the spread of the value with the opposite sign."""
        return replace(
            self,
            below=self.above,
            above=self.below,
            skewness=-self.skewness,
            talkative_below=self.talkative_above,
            talkative_above=self.talkative_below,
            hidden=-self.hidden,
        )

    def _unseen_share(self, tail: float) -> float:
        """Return the largest share of people of one kind that a sample may lack."""
        return float(1.0 - tail ** (1.0 / self.people))

    def _with_hidden(self, value: float, down: float, up: float, tail: float) -> tuple[float, float]:
        """Return limits so far away from a value, and farther where people who are not recognised would move it."""
        hidden = self._unseen_share(tail**0.5) * self.hidden  # to lack such people and err in others is rare
        return value - math.hypot(down, min(0.0, hidden)), value + math.hypot(up, max(0.0, hidden))

    def _sampled(self, tail: float, skewness: float) -> float:
        """Return how far a limit lies from the value for people like those seen."""
        return self.error * skewed(-float(stdtrit(self.freedom, tail)), skewness)

    def _reach(self, unseen: float, talkative: float, tail: float, skewness: float) -> float:
        """Return how far a limit lies from the value, people who were not seen allowed for."""
        share = self._unseen_share(tail)
        # A sample that lacks the people who speak most errs to one side, and by chance on top of that.
        return math.hypot(self._sampled(tail, skewness) + share**self.tail * talkative, share * unseen)


def skewed(quantile: float, skewness: float) -> float:
    """Return how many standard errors a limit lies away on the side of the long tail, given a symmetric quantile.

    The limits are those of a Poisson number of events (Garwood) with this skewness, 1 / k^(1/2) for k events: exact
    where k people of a rare kind make up the value, and near Hall's cubic transformation where many people differ a
    little. On the side of the short tail the skewness is negative.

    Examples
    --------
    >>> skewed(2.0, 0.0)
    2.0
    >>> one_event = 1.0 + skewed(1.959964, 1.0)
    >>> round(one_event, 3)
    5.572
    """
    if abs(skewness) < _LEAST_SKEWNESS:
        return quantile
    events = skewness**-2.0
    if skewness > 0.0:
        return float((gammainccinv(events + 1.0, ndtr(-quantile)) - events) / np.sqrt(events))
    return float((events - gammaincinv(events, ndtr(-quantile))) / np.sqrt(events))


def unskewed(distance: float, skewness: float) -> float:
    """Return the symmetric quantile whose limit lies this many standard errors away; the inverse of `skewed`."""
    if abs(skewness) < _LEAST_SKEWNESS:
        return distance
    events = skewness**-2.0
    if skewness > 0.0:
        return -float(ndtri(gammaincc(events + 1.0, events + distance * np.sqrt(events))))
    return -float(ndtri(gammainc(events, max(0.0, events - distance * np.sqrt(events)))))


def effective_number(sizes: FloatArray) -> float:
    """Return how many people of equal size would count as much as these [Kish 1965].

    Examples
    --------
    >>> round(effective_number(np.array([10.0, 10.0, 10.0])), 6)
    3.0
    >>> round(effective_number(np.array([98.0, 1.0, 1.0])), 2)
    1.04
    """
    total = float(sizes.sum())
    return total**2 / float((sizes**2).sum()) if total > 0.0 else 0.0


def unseen_share(people: float) -> float:
    """Return the largest share of people of one kind that a sample of so many may lack (Clopper and Pearson)."""
    return float(1.0 - _UNSEEN_TAIL ** (1.0 / max(people, 1.0)))


def estimate_spread(
    value: float,
    left_out: FloatArray,
    shares: FloatArray,
    people: float,
    unseen: Sequence[float] = (),
    *,
    model_error: float = 0.0,
    recordings: RecordingNumbers | None = None,
) -> Spread | None:
    """Return the spread of a value from its values without each person or group; None where these are too few.

    Parameters
    ----------
    value
        The value of everybody.
    left_out
        The value without each group.
    shares
        The share of the data that each group contributes.
    people
        Effective number of people.
    unseen
        Changes of the value, per share of people, if there were people of kinds that may not be in the sample; first
        of those who are not recognised.
    model_error
        Standard error of a model that is not fitted again when people are left out.
    recordings
        Numbers of recordings of these people, where limits are corrected for skewness and allow for others who were
        recorded more often.
    """
    finite = np.isfinite(left_out)
    groups = int(finite.sum())
    if groups < 2 or people < 2.0 or not np.isfinite(value):
        return None
    values, shares = left_out[finite], shares[finite]
    with np.errstate(over="ignore"):
        jackknife = np.sqrt((groups - 1.0) / groups * ((values - values.mean()) ** 2).sum())
    if not np.isfinite(jackknife):
        return None  # values so large that their squares are not numbers
    away = values.mean() - values
    # The value of each group by itself, less that of all, as a group of usual size would show it.
    deviations = away / np.maximum(shares, 1.0 / people)
    kinds = [float(deviations.min()), float(deviations.max()), *unseen]
    few = _concentration(values)
    changes = [max(0.0, -min(kinds)), max(0.0, max(kinds))]
    # Next to what one person of another kind would change, nobody differs: everybody is recognised, or nobody.
    if jackknife <= max(_ROUNDING * max(1.0, float(np.abs(values).max())), _NEGLIGIBLE * max(changes) / people):
        jackknife = 0.0
    pooled = skewness = 0.0
    if recordings is not None and jackknife > 0.0:
        pooled, skewness = _pooled_moments(away, shares)
        jackknife = max(jackknife, pooled)
    error = float(np.hypot(jackknife, model_error))
    # One more person of a kind that moves the value by more than the standard error is a kind that was not seen.
    below, above, hidden = (
        change * (max(few, min(1.0, abs(change) / people / error)) if error > 0.0 else 1.0)
        for change in (*changes, unseen[0] if unseen else 0.0)
    )
    spread = Spread(error, people, min(people, groups) - 1.0, below, above)
    if recordings is None or error == 0.0:
        return spread
    ratio = (people / recordings.people) ** recordings.tail
    added = np.full(len(left_out), np.nan)
    added[finite] = away
    return replace(
        spread,
        skewness=float(np.clip(skewness * (pooled / error) ** 3, -1.0, 1.0)),
        talkative_below=ratio * recordings.change(-added, changes[0]),
        talkative_above=ratio * recordings.change(added, changes[1]),
        hidden=hidden,
        tail=recordings.tail,
    )


def _pooled_moments(away: FloatArray, shares: FloatArray) -> tuple[float, float]:
    """Return standard error and skewness of a value, as if nobody's exposure depended on how often they speak.

    Those who speak most decide the jackknife of unequal people, and tell as little of others as anybody. The moments of
    all people are pooled here, so that the variance is known as well as from the effective number of people. For equal
    shares the standard error is that of the jackknife.
    """
    shares, scale = shares / shares.sum(), float(np.abs(away).max()) or 1.0  # third powers may be no numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(shares > 0.0, away / scale * (1.0 - shares) / shares, 0.0)
    second, third = float((shares**2).sum()), float((shares**3).sum())
    if second >= 1.0:
        return 0.0, 0.0
    error = np.sqrt(second / (1.0 - second) * float((shares * alone**2).sum()))
    cubes = third * float((shares * alone**3).sum())
    return float(error) * scale, cubes / float(error) ** 3 if error > 0.0 else 0.0


def estimate_spreads(
    values: Mapping[str, float], without: Sequence[Mapping[str, float]], shares: FloatArray, people: float
) -> dict[str, Spread]:
    """Return the spread of each value by name, from the values without each person or group; see `estimate_spread`."""
    spreads = {
        name: estimate_spread(value, np.array([fewer.get(name, np.nan) for fewer in without]), shares, people)
        for name, value in values.items()
    }
    return {name: spread for name, spread in spreads.items() if spread is not None}


def _concentration(values: FloatArray) -> float:
    """Return how far a standard error rests on few people: 1 where one or two decide, near 0 for many alike.

    Where many people differ a little, the standard error predicts how much others will; where one makes up all of it,
    or nobody differs, it does not.
    """
    largest = float(np.abs(values).max())
    if largest > _LARGE:
        values = values / largest
    squares = (values - values.mean()) ** 2
    total = float(squares.sum())
    if total <= 1e-20 * max(1.0, float(np.abs(values).max()) ** 2):
        return 1.0
    return float(np.sqrt(min(1.0, _KURTOSIS * float((squares**2).sum()) / total**2)))


def is_biased(rule: IntervalRule) -> bool:
    """Whether values of measures with this rule are corrected."""
    return rule in _RATES


def estimate_bias(value: float, halves: FloatArray, rule: IntervalRule) -> float:
    """Return by how much a value is too large, from its values on halves of the people; 0 for rules without a bias.

    Measures after oracle calibration (D_ECE, min Cllr, linkability, ...) flatter the attacker, because they fit the
    scores they are judged on. With PAV the bias falls with the number n of people faster than the n^(-2/3) of isotonic
    regression, because scores of one person are alike, and slower than 1 / n; n^(-3/4) fits simulations best. With the
    kernel of linkability, whose width is chosen, it is n^(-1/2). A histogram of ranks has the bias of an entropy, 1 /
    n. Either way the bias at n follows from the value at n / 2. Halves come with their complements, in which what
    single people add cancels.

    Examples
    --------
    >>> round(estimate_bias(1.0, np.array([1.2, 1.4]), "entropy"), 6)
    0.3
    """
    finite = halves[np.isfinite(halves)]
    if rule not in _RATES or len(finite) == 0 or not np.isfinite(value):
        return 0.0
    growth: float = 2.0 ** _RATES[rule] - 1.0
    return float(finite.mean() - value) / growth
