"""The audits of the bundled embeddings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from zeroevidence.auditing import Audit, EmbeddingSets, EncodedSpeech, FineTuningHistory, audit
from zeroevidence.evaluation import Options
from zeroevidence.protect.card import protector_card
from zeroevidence.sample import CASCADE, EXTRACTOR, PROTECTIONS, THREEFOLD, cascade_sets, sample_sets, sentence_sets
from zeroevidence.uncertainty.resampling.draws import Progress

DEMO_OPTIONS = Options(intervals=400, null=100)  # done in seconds


def sample_audit(
    protection: str = "mcadams", *, options: Options | None = None, progress: Progress | None = None
) -> Audit:
    """Return the audit of the bundled embeddings, protected by one of `PROTECTIONS`, with every attacker."""
    result = audit(
        sample_sets("original"),
        sample_sets(protection),
        backends=("cosine",),
        options=options,
        system=PROTECTIONS[protection],
        dataset="audiomnist",
        extractor=EXTRACTOR,
        progress=progress,
    )
    return replace(result, protector=protector_card(PROTECTIONS[protection]))


def trained_audit(*, options: Options | None = None, progress: Progress | None = None) -> Audit:
    """Return the audit of sentences under three voice changes, with a pretrained and a fine-tuned encoder.

    Examples
    --------
    >>> result = trained_audit(options=Options(intervals=0, null=0))
    >>> lazy = max(row.number("top1") for row in result.rows if row.about.threat.name == "lazy-informed")
    >>> result.strongest.about.threat.name, result.strongest.number("top1") > 1.5 * lazy
    ('semi-informed', True)
    """
    history = FineTuningHistory(people=60, recordings=480, epochs=30)
    return _sentences_audit(sentence_sets, THREEFOLD, history, options, progress)


def cascade_audit(*, options: Options | None = None, progress: Progress | None = None) -> Audit:
    """Return the audit of the same sentences as a cascade reads them, with the same attackers.

    Examples
    --------
    >>> result = cascade_audit(options=Options(intervals=0, null=0))
    >>> result.strongest.number("alid") < 0.25
    True
    """
    history = FineTuningHistory(people=59, recordings=389, epochs=8)
    return _sentences_audit(cascade_sets, CASCADE, history, options, progress)


def _sentences_audit(
    sets: Callable[[str], EmbeddingSets],
    protection: str,
    history: FineTuningHistory,
    options: Options | None,
    progress: Progress | None,
) -> Audit:
    trained = EncodedSpeech("campplus-trained", None, sets("trained"), trained_on="anonymised", learned=history)
    result = audit(
        sets("original"),
        sets("protected"),
        encoders=[trained],
        effort="quick",
        options=options,
        system=protection,
        dataset="speechocean762",
        extractor="campplus",
        progress=progress,
    )
    return replace(result, protector=protector_card(protection))
