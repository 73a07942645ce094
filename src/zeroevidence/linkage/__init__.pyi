"""The names of the package, each from the module that defines it."""

from zeroevidence.linkage.calibration import PairStatistics as PairStatistics
from zeroevidence.linkage.calibration import calibrate_search as calibrate_search
from zeroevidence.linkage.calibration import pair_statistics as pair_statistics
from zeroevidence.linkage.engines import engine_names as engine_names
from zeroevidence.linkage.evidence import TrialEvidence as TrialEvidence
from zeroevidence.linkage.inputs import Address as Address
from zeroevidence.linkage.inputs import Pairing as Pairing
from zeroevidence.linkage.inputs import pair as pair
from zeroevidence.linkage.inputs import plda_vectors as plda_vectors
from zeroevidence.linkage.inputs import read_pairing as read_pairing
from zeroevidence.linkage.plan import LinkOptions as LinkOptions
from zeroevidence.linkage.plan import SearchCalibration as SearchCalibration
from zeroevidence.linkage.search import Identities as Identities
from zeroevidence.linkage.search import LinkResult as LinkResult
from zeroevidence.linkage.search import SearchOutput as SearchOutput
from zeroevidence.linkage.search import link as link
from zeroevidence.linkage.search import link_resumable as link_resumable
