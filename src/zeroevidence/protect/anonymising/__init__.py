"""Anonymising a corpus: the same layout with protected recordings, and a card that says how they were made."""
