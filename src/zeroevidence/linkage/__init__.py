"""Search through embeddings: evidence of each trial, computed in blocks; imports with NumPy alone.

The subpackage is not called `link`, so that `zeroevidence.link` is the function. Names are imported when they are first
used.
"""

from zeroevidence._lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
