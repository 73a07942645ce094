"""Fusion of the scores of several attackers or systems."""
