"""The audit of the bundled embeddings."""

from __future__ import annotations

from zeroevidence.auditing import Audit, audit
from zeroevidence.evaluation import Options
from zeroevidence.sample import EXTRACTOR, PROTECTIONS, sample_sets
from zeroevidence.uncertainty.draws import Progress

DEMO_OPTIONS = Options(intervals=400, null=100)  # done in seconds


def sample_audit(
    protection: str = "mcadams", *, options: Options | None = None, progress: Progress | None = None
) -> Audit:
    """Every attacker on the bundled embeddings, protected by one of `PROTECTIONS`."""
    return audit(
        sample_sets("original"),
        sample_sets(protection),
        backends=("cosine",),
        options=options,
        system=PROTECTIONS[protection],
        dataset="audiomnist",
        extractor=EXTRACTOR,
        progress=progress,
    )
