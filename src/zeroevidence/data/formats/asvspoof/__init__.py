"""Score files, keys and protocols of the ASVspoof challenges."""

from zeroevidence.data.formats.asvspoof.join import TandemDuplicates
from zeroevidence.data.formats.asvspoof.layout import TANDEM_FORMATS, Side
from zeroevidence.data.formats.asvspoof.read import LoadedTandem, diagnose_tandem, read_tandem

__all__ = [
    "TANDEM_FORMATS",
    "LoadedTandem",
    "Side",
    "TandemDuplicates",
    "diagnose_tandem",
    "read_tandem",
]
