"""Scores to log-likelihood ratios."""
