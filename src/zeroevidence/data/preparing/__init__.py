"""Scores in the expected direction, scale and order, and groups pooled, before they are evaluated."""
