"""Evidence about a class, as log-likelihood ratios; needs NumPy alone."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray


def evidence(log_likelihoods: FloatArray) -> FloatArray:
    """Return LLRs from log-likelihoods of classes (n x K): of the second class for K = 2, else of each, n x K."""
    if log_likelihoods.shape[1] == 2:
        llr: FloatArray = log_likelihoods[:, 1] - log_likelihoods[:, 0]
        return llr
    return against_others(log_likelihoods)


def against_others(log_likelihoods: FloatArray) -> FloatArray:
    """Return the LLR of each class against the mean likelihood of all others, n x K."""
    count = log_likelihoods.shape[1]
    alternatives = np.stack(
        [np.logaddexp.reduce(np.delete(log_likelihoods, k, axis=1), axis=1) for k in range(count)], axis=1
    ) - np.log(count - 1.0)
    llr: FloatArray = log_likelihoods - alternatives
    return llr
