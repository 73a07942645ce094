"""Measures of what vectors or attackers reveal about an attribute."""
