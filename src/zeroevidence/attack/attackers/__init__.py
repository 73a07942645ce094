"""Attackers: who compares what with what, and what they learned from; each module of this package registers its own."""
