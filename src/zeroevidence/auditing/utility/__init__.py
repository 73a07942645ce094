"""Utility that is measured on the speech itself: pitch, and words by a recogniser."""
