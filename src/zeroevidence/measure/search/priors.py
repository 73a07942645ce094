r"""Local Information Disclosure for other priors than the uniform one.

Let the true identity have the prior :math:`\pi` and the others share the rest in equal parts. The evidence of a trial
is one number, the likelihood ratio R of the true identity against the average of the others, and

.. math:: LID(\pi) = \log_2 \frac{R}{\pi R + 1 - \pi}.

With :math:`\pi = 1/N` it is the LID of a uniform prior, which R follows from. Its mean over all :math:`\pi` needs no
prior at all.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import search_measure
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import SearchView

PRIOR_FREE_MAX = 1.0 / LN2  # the true person is certain
_NEAR = 1e-4
_FAR = 600.0  # natural logarithms whose exponentials are sure to be finite
_BLOCK = 1 << 14  # trials that stay in the cache together


def log_ratio_from_lid(lid: FloatArray, prior: FloatArray | float) -> FloatArray:
    """Natural log of the likelihood ratio R of the true identity against the others, from LID at a prior.

    Examples
    --------
    >>> np.exp(log_ratio_from_lid(np.array([1.0]), 0.25)).round(9).tolist()  # 1/4 becomes 1/2
    [3.0]
    """
    lid, prior = np.asarray(lid, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if not ((prior > 0.0) & (prior < 1.0)).all():
        raise InputError("expected priors between 0 and 1")
    with np.errstate(divide="ignore", over="ignore"):
        after = np.minimum(np.exp2(lid) * prior, 1.0)  # rounding may go beyond
        ratio: FloatArray = lid * LN2 + np.log1p(-prior) - np.log1p(-after)
    return ratio


def lid_at(log_ratio: FloatArray, log_odds: FloatArray) -> FloatArray:
    """LID in bits of each trial (row) at each prior log-odds (column).

    Examples
    --------
    >>> lid_at(np.log([3.0]), np.log([1.0 / 3.0])).round(12).tolist()
    [[1.0]]
    """
    r, prior = np.asarray(log_ratio)[:, None], 1.0 / (1.0 + np.exp(-np.asarray(log_odds)[None, :]))
    # ln R - ln(pi R + 1 - pi), as minus ln(pi + (1 - pi) / R), which an infinite R leaves finite
    with np.errstate(over="ignore", divide="ignore"):
        bits: FloatArray = -np.logaddexp(np.log(prior), np.log1p(-prior) - r) / LN2
    return bits


def total_lid_at(log_ratio: FloatArray, log_odds: FloatArray) -> FloatArray:
    """Sum over trials of their LID in bits at each prior log-odds, without a matrix of them.

    Examples
    --------
    >>> total_lid_at(np.log([3.0, 1.0]), np.log([1.0 / 3.0])).round(12).tolist()
    [1.0]
    """
    odds = np.asarray(log_odds)
    prior, rest = 1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(odds))
    total = np.zeros(len(odds))
    for start in range(0, len(log_ratio), _BLOCK):
        r = log_ratio[start : start + _BLOCK]
        near = np.abs(r) < _FAR
        inverse = np.exp(-r[near])
        total -= [np.log2(p + q * inverse).sum() for p, q in zip(prior, rest, strict=True)]
        if not near.all():
            total += lid_at(r[~near], odds).sum(axis=0)
    return total


def prior_free(log_ratio: FloatArray) -> FloatArray:
    r"""LID of each trial, averaged over all priors, in bits.

    .. math:: \int_0^1 LID(\pi)\,d\pi = \frac{1}{\ln 2} \left(1 - \frac{\ln R}{R - 1}\right)

    Examples
    --------
    >>> prior_free(np.array([np.log(2.0), 0.0, np.inf])).round(4).tolist()
    [0.4427, 0.0, 1.4427]
    """
    r = np.asarray(log_ratio, dtype=np.float64)
    near = np.abs(r) < _NEAR
    far = np.where(near | np.isinf(r), 1.0, r)
    with np.errstate(over="ignore"):
        value = 1.0 - far / np.expm1(far)
    small = np.where(near, r, 0.0)
    value = np.where(near, small / 2.0 - small**2 / 12.0, value)
    value = np.where(r == np.inf, 1.0, np.where(r == -np.inf, -np.inf, value))
    bits: FloatArray = value / LN2
    return bits


@search_measure(
    "lid_prior_free",
    "prior-free LID",
    unit="bit",
    limits=(-np.inf, PRIOR_FREE_MAX),
    place=65,
    references=("sterns2026", "nautsch2020"),
)
def _lid_prior_free(view: SearchView) -> FloatArray | None:
    """What one utterance reveals about its speaker, averaged over all priors; 0 is nothing and 1.44 everything."""
    return None if view.prior_free is None else view.prior_free / view.trials
