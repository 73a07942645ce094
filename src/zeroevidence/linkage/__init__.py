"""Search through embeddings: evidence of each trial, computed in blocks; imports with NumPy alone.

The subpackage is not called `link`, so that `zeroevidence.link` is the function.
"""

from zeroevidence.linkage.calibration import PairStatistics, calibrate_search, fit_link, pair_statistics
from zeroevidence.linkage.engines import engine_names
from zeroevidence.linkage.evidence import TrialEvidence
from zeroevidence.linkage.inputs import Address, Pairing, pair, plda_vectors, read_pairing
from zeroevidence.linkage.plan import LinkOptions, SearchCalibration
from zeroevidence.linkage.resumable import SearchOutput, link_resumable
from zeroevidence.linkage.search import Identities, LinkResult, link

__all__ = [
    "Address",
    "Identities",
    "LinkOptions",
    "LinkResult",
    "PairStatistics",
    "Pairing",
    "SearchCalibration",
    "SearchOutput",
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
