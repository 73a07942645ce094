"""Measures of a search: each trial against N enrolled identities."""
