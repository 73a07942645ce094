"""Corpora of speech on disk: Kaldi data folders, tables of utterances, trees of speakers, and their problems."""
