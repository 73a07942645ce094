"""Back-ends: from embeddings to scores, higher meaning more alike.

All have one small interface: ``fit(vectors, speakers)`` on other people's embeddings, then ``score(enrol, trial)`` of
N profiles against T trials as a T x N array. The profile of an enrolled speaker is the mean of the speaker's
embeddings [Šterns et al., sec. 3.2].

`BACKENDS` is the table of those that have a name. Every module in this folder is imported with the package, and enters
its back-ends into the table.
"""

from importlib import import_module
from pkgutil import iter_modules

from zeroevidence.attack.backends.base import Backend, BackendLike, VectorEstimator, as_matrix, grouped, unit
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.norm import NormMethod, ScoreNorm
from zeroevidence.attack.backends.plda import Plda, Shrinkage
from zeroevidence.attack.backends.registry import BACKENDS, BackendKind, find_backend, make_backend, register_backend
from zeroevidence.attack.backends.whitened import Whitened

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "BACKENDS",
    "Backend",
    "BackendKind",
    "BackendLike",
    "Cosine",
    "NormMethod",
    "Plda",
    "ScoreNorm",
    "Shrinkage",
    "VectorEstimator",
    "Whitened",
    "as_matrix",
    "find_backend",
    "grouped",
    "make_backend",
    "register_backend",
    "unit",
]
