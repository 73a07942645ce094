"""Measures of one-to-one comparisons: target and non-target scores."""
