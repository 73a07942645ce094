"""The audit: original and anonymised embeddings in, an evaluation of every attacker out, the strongest as headline.

Every audit has two bounds [Šterns et al., sec. 3]: `unprotected`, original against original speech, shows that the
attacker can recognise people at all; `random`, noise against noise, shows what the same search finds where nothing is
to be found.
"""

from __future__ import annotations

from zeroevidence.auditing.attacks import Audit, audit
from zeroevidence.auditing.corpora import audit_corpora
from zeroevidence.auditing.curves import LearningCurve
from zeroevidence.auditing.encoders import Encoded, Learned
from zeroevidence.auditing.sets import EmbeddingSets

__all__ = ["Audit", "EmbeddingSets", "Encoded", "Learned", "LearningCurve", "audit", "audit_corpora"]
