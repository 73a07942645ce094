"""Search through embeddings: evidence of each trial, computed in blocks; imports with NumPy alone.

The subpackage is not called `link`, so that `zeroevidence.link` is the function.
"""

from zeroevidence.linkage.calibration.search_calibration import SearchCalibration, calibrate_search
from zeroevidence.linkage.calibration.statistics import PairStatistics, fit_link, pair_statistics
from zeroevidence.linkage.engines.engine import engine_names
from zeroevidence.linkage.evidence.trial_evidence import TrialEvidence
from zeroevidence.linkage.inputs.pairing import Pairing, pair, read_pairing
from zeroevidence.linkage.inputs.scoring import plda_vectors
from zeroevidence.linkage.inputs.vectors import Address
from zeroevidence.linkage.result import CalibrationFacts, Identities, LinkResult
from zeroevidence.linkage.resuming.resumable import LinkSettings, link_resumable
from zeroevidence.linkage.search import link

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
