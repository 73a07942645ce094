"""Embedding files: one module per format, each of which adds itself to `VECTOR_FORMATS`; nothing is unpickled."""

from zeroevidence.data.formats.registry import import_modules
from zeroevidence.data.formats.vectors.labels import read_labelled
from zeroevidence.data.formats.vectors.read import read_embeddings, read_words
from zeroevidence.data.formats.vectors.registry import VECTOR_FORMATS, VectorFormat
from zeroevidence.data.formats.vectors.write import write_embeddings

import_modules(__name__, __path__)

__all__ = ["VECTOR_FORMATS", "VectorFormat", "read_embeddings", "read_labelled", "read_words", "write_embeddings"]
