"""Search through embeddings: evidence of each trial, computed in blocks; imports with NumPy alone.

The subpackage is not called `link`, so that `zeroevidence.link` is the function.
"""

from zeroevidence.linkage.calibration import (
    PairStatistics,
    SearchCalibration,
    calibrate_search,
    fit_link,
    pair_statistics,
)
from zeroevidence.linkage.engines import engine_names
from zeroevidence.linkage.evidence import TrialEvidence
from zeroevidence.linkage.inputs import Address, Pairing, pair, plda_vectors, read_pairing
from zeroevidence.linkage.resumable import LinkSettings, link_resumable
from zeroevidence.linkage.search import CalibrationFacts, Identities, LinkResult, link

__all__ = [
    "Address",
    "CalibrationFacts",
    "Identities",
    "LinkResult",
    "LinkSettings",
    "PairStatistics",
    "Pairing",
    "SearchCalibration",
    "TrialEvidence",
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
