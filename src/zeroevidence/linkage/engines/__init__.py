"""Engines of a search, one module each, and what they share."""
