"""Files people have: Kaldi, VoxCeleb, tables, matrices, BOSARIS, VoicePrivacy results, ASVspoof."""

from zeroevidence.data.formats.asvspoof import LoadedTandem, diagnose_tandem, read_tandem
from zeroevidence.data.formats.load import FORMATS, Loaded, diagnose, read_scores
from zeroevidence.data.formats.prior import read_prior
from zeroevidence.data.formats.summary import SummaryRow, read_summary
from zeroevidence.data.formats.voiceprivacy import FoundRow, find_rows

__all__ = [
    "FORMATS",
    "FoundRow",
    "Loaded",
    "LoadedTandem",
    "SummaryRow",
    "diagnose",
    "diagnose_tandem",
    "find_rows",
    "read_prior",
    "read_scores",
    "read_summary",
    "read_tandem",
]
