"""Embedding files: one module for each format, which adds itself to `VECTOR_FORMATS`; nothing is unpickled."""
