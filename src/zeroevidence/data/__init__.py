"""Scores, matrices, embeddings and corpora, validated once and then read-only, and the files that hold them.

`scores`, `matrix` and `embeddings` need NumPy alone; `formats` reads files and imports polars.
"""
