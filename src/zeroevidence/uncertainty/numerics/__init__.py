"""Numerical routines written out so that small commands need not import SciPy."""
