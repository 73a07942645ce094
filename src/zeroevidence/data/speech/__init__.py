"""Corpora of speech: utterances with speakers, roles and splits, audio files, and folds of speakers."""
