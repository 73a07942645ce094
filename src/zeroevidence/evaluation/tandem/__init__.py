"""Scores of a tandem in, rows of results out."""
