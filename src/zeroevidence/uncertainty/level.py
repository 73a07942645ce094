"""Levels that everything is judged by."""

ALPHA = 0.05  # how often a conclusion may be wrong where nothing is to be found
LEAST_PEOPLE = 10  # fewer give no interval: benchmarks/validity.py shows down to where intervals hold
