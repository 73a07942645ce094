"""Embeddings of a search: vectors and where they lie, their scoring, and who is paired with whom."""
