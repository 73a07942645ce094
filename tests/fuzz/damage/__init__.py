"""Damage to files: of any kind, and such that a command must refuse."""
