"""The audit: original and anonymised embeddings in, an evaluation of every attacker out, the strongest as headline.

Every audit has two bounds [Šterns et al., sec. 3]: `unprotected`, original against original speech, shows that the
attacker can recognise people at all; `random`, noise against noise, shows what the same search finds where nothing is
to be found.
"""

from __future__ import annotations

from zeroevidence.auditing.corpus_audit import audit_corpora
from zeroevidence.auditing.embedding_audit import Audit, audit
from zeroevidence.auditing.embedding_sets import EmbeddingSets, EncodedSpeech, FineTuningHistory, LearningCurve
from zeroevidence.auditing.options import AuditOptions
from zeroevidence.auditing.protected_speech import AuditedSpeech, read_speech

__all__ = [
    "Audit",
    "AuditOptions",
    "AuditedSpeech",
    "EmbeddingSets",
    "EncodedSpeech",
    "FineTuningHistory",
    "LearningCurve",
    "audit",
    "audit_corpora",
    "read_speech",
]
