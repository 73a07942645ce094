"""Embeddings to per-trial evidence, streamed in blocks; imports with NumPy alone.

The subpackage is not called `link`, so that `zeroevidence.link` is the function.
"""

from zeroevidence.linkage.calibration import PairStatistics, fit_link, pair_statistics
from zeroevidence.linkage.engine import BACKENDS, link
from zeroevidence.linkage.result import Linkage
from zeroevidence.linkage.scoring import plda_vectors
from zeroevidence.linkage.summary import LinkSummary
from zeroevidence.linkage.vectors import Address

__all__ = [
    "BACKENDS",
    "Address",
    "LinkSummary",
    "Linkage",
    "PairStatistics",
    "fit_link",
    "link",
    "pair_statistics",
    "plda_vectors",
]
