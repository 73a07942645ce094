"""Folders of speech: Kaldi data folders, tables of utterances and trees of speakers, and what is wrong with them."""

from zeroevidence.data.formats.corpora.read import (
    CorpusReport,
    diagnose_corpus,
    examine_corpus,
    examine_pairs,
    read_corpus,
    read_segments,
)

__all__ = ["CorpusReport", "diagnose_corpus", "examine_corpus", "examine_pairs", "read_corpus", "read_segments"]
