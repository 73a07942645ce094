"""Scores and searches in, rows of results out."""
