r"""Lp norms of the evidence: from its mean (p = 1) to its worst case (p = infinity) [Nautsch et al. 2020, footnote 7].

The worst case is the largest :math:`|LLR|` of any score, the :math:`L^\infty` norm of a vector of LLRs. Other norms are
taken here under a probability over scores, each class with one half:

.. math:: \|x\|_p = \left( \tfrac12 \overline{|x|^p}_{mated} + \tfrac12 \overline{|x|^p}_{other} \right)^{1/p}

so that they do not grow with the number of scores, rise with p, and end at the worst case.
"""

from __future__ import annotations

from math import inf

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import Blocks, count, pool, pool_laplace
from zeroevidence.errors import UsageError
from zeroevidence.measure.inputs import takes_scores
from zeroevidence.measure.pairs.zebra import LN10, worst_case_of

INVERSE_ORDERS: FloatArray = np.linspace(1.0, 0.0, 41)  # 1 / p, from the mean to the worst case
INVERSE_ORDERS.flags.writeable = False


@takes_scores
def lp_disclosure(target: FloatArray, nontarget: FloatArray, *, p: float = 2.0) -> float:
    """Lp norm of the evidence in log10 of the likelihood ratio, after Laplace's rule: 1 the mean, infinity the worst.

    Parameters
    ----------
    target
        Target scores.
    nontarget
        Non-target scores.
    p
        Order of the norm, from 1 to infinity: the larger, the more strong evidence counts.

    Examples
    --------
    >>> scores = [2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 1.5, 3.5]
    >>> [round(lp_disclosure(*scores, p=p), 3) for p in (1, 2, 10, float("inf"))]
    [0.458, 0.476, 0.549, 0.602]
    """
    return lp_disclosure_of(pool_laplace(pool(count(target, nontarget))), p)


def lp_disclosure_of(laplace: Blocks, p: float) -> float:
    """The same of blocks pooled with Laplace's rule."""
    if not p >= 1.0:
        raise UsageError(f"p: expected a number from 1 on, or infinity, got {p!r}")
    worst = worst_case_of(laplace)
    if p == inf or worst == 0.0:
        return worst
    share = 0.5 * laplace.target / laplace.target.sum() + 0.5 * laplace.nontarget / laplace.nontarget.sum()
    # Over the worst case, so that no power overflows; what is left of the sum is at least its share.
    with np.errstate(under="ignore"):
        powers = (np.abs(laplace.llr) / (worst * LN10)) ** p
    return float(worst * (share @ powers) ** (1.0 / p))
