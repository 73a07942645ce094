"""Calibration of a search, fitted by streaming over pairs."""
