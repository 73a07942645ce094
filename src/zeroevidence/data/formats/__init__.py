"""Files people have, a room for each kind: scores, embeddings, corpora of speech, ASVspoof; and folders of `link`.

| room | holds |
| --- | --- |
| ``scores`` | score files with their keys, priors, VoicePrivacy results |
| ``vectors`` | embeddings |
| ``corpora`` | folders of speech |
| ``asvspoof`` | countermeasures and the verifiers behind them |
| ``linked`` | what `zeroevidence link` wrote |

Formats of scores and of embeddings register themselves: `SCORE_FORMATS`, `VECTOR_FORMATS`.
"""

from zeroevidence.data.formats.asvspoof import (
    TANDEM_FORMATS,
    LoadedTandem,
    TandemDuplicates,
    diagnose_tandem,
    read_tandem,
)
from zeroevidence.data.formats.corpora import (
    CorpusReport,
    diagnose_corpus,
    examine_corpus,
    examine_pairs,
    read_corpus,
    read_segments,
)
from zeroevidence.data.formats.linked import LinkedTrials, read_linked
from zeroevidence.data.formats.scores import (
    FORMATS,
    SCORE_FORMATS,
    Duplicates,
    FoundRow,
    Infinite,
    SummaryRow,
    diagnose,
    find_rows,
    read_prior,
    read_scores,
    read_summary,
)
from zeroevidence.data.formats.vectors import (
    VECTOR_FORMATS,
    read_embeddings,
    read_labelled,
    read_words,
    write_embeddings,
)
from zeroevidence.data.loaded import Loaded

__all__ = [
    "FORMATS",
    "SCORE_FORMATS",
    "TANDEM_FORMATS",
    "VECTOR_FORMATS",
    "CorpusReport",
    "Duplicates",
    "FoundRow",
    "Infinite",
    "LinkedTrials",
    "Loaded",
    "LoadedTandem",
    "SummaryRow",
    "TandemDuplicates",
    "diagnose",
    "diagnose_corpus",
    "diagnose_tandem",
    "examine_corpus",
    "examine_pairs",
    "find_rows",
    "read_corpus",
    "read_embeddings",
    "read_labelled",
    "read_linked",
    "read_prior",
    "read_scores",
    "read_segments",
    "read_summary",
    "read_tandem",
    "read_words",
    "write_embeddings",
]
