"""Figures of results, for papers and reports: an `Evaluation` in, matplotlib Axes out.

Each kind of figure is a function ``name(evaluation_or_evaluations, *, ax=None, **options)``; `KINDS` is the table.
Importing this package does not import matplotlib.
"""

from __future__ import annotations

from zeroevidence.plot.canvas import style
from zeroevidence.plot.kinds import KINDS, Kind, available
from zeroevidence.plot.pairs import det, ece, histogram, linkability, pav, tippett
from zeroevidence.plot.search import (
    cmc,
    lid_ccdf,
    lid_histogram,
    over_identities,
    over_utterances,
    people,
    posterior,
    rank_disclosure,
)
from zeroevidence.plot.sheet import draw, to_bytes, to_svg
from zeroevidence.plot.systems import eer_lid, scatter
from zeroevidence.plot.wide import map_of, similarity, t_dcf, t_dcf_surface

__all__ = [
    "KINDS",
    "Kind",
    "available",
    "cmc",
    "det",
    "draw",
    "ece",
    "eer_lid",
    "histogram",
    "lid_ccdf",
    "lid_histogram",
    "linkability",
    "map_of",
    "over_identities",
    "over_utterances",
    "pav",
    "people",
    "posterior",
    "rank_disclosure",
    "scatter",
    "similarity",
    "style",
    "t_dcf",
    "t_dcf_surface",
    "tippett",
    "to_bytes",
    "to_svg",
]
