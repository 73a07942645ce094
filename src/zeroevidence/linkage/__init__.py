"""Embeddings to per-trial evidence, streamed in blocks; imports with NumPy alone.

The subpackage is not called `link`, so that `zeroevidence.link` is the function.
"""

from zeroevidence.linkage.calibration import PairStatistics, fit_link, pair_statistics
from zeroevidence.linkage.crossfit import SearchCalibration, calibrate_search
from zeroevidence.linkage.engine import link
from zeroevidence.linkage.linked import CalibrationFacts, Identities, Linked
from zeroevidence.linkage.pairing import Pairing, pair, read_pairing
from zeroevidence.linkage.registry import engine_names
from zeroevidence.linkage.result import Linkage
from zeroevidence.linkage.resumable import LinkSettings, link_resumable
from zeroevidence.linkage.scoring import plda_vectors
from zeroevidence.linkage.summary import LinkSummary
from zeroevidence.linkage.vectors import Address

__all__ = [
    "Address",
    "CalibrationFacts",
    "Identities",
    "LinkSettings",
    "LinkSummary",
    "Linkage",
    "Linked",
    "PairStatistics",
    "Pairing",
    "SearchCalibration",
    "calibrate_search",
    "engine_names",
    "fit_link",
    "link",
    "link_resumable",
    "pair",
    "pair_statistics",
    "plda_vectors",
    "read_pairing",
]
