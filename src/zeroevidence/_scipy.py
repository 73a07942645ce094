"""What most commands need of SciPy, without the packages around it, which take longer to import than NumPy and polars.

`scipy.special` and `scipy.optimize` prepare themselves for other libraries of arrays and import all that they have.
Their functions of NumPy's arrays are in modules of their own, and are the same objects in either place. Only `dct` is
what `scipy.fft.dct` and its inverse call.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import scipy

__all__ = [
    *("bdtrik", "betaincinv", "expit", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "gammaln", "logit"),
    *("bdtrc", "dct", "ndtr", "ndtri", "nnls", "stdtr", "stdtrit", "xlogy"),
]


def import_part(package: str, part: str) -> Any:
    """Import a module of a part of SciPy but not that part; return the part itself where it was imported before."""
    if package in sys.modules:
        return importlib.import_module(package)  # waits where another thread imports it
    stand_in = sys.modules[package] = ModuleType(package)
    stand_in.__path__ = [str(Path(scipy.__file__).parent.joinpath(*package.split(".")[1:]))]
    try:
        return importlib.import_module(f"{package}.{part}")
    finally:
        del sys.modules[package]


if TYPE_CHECKING:
    from scipy.optimize import nnls as nnls
    from scipy.special import *  # noqa: F403

    dct: Any
else:
    nnls = import_part("scipy.optimize", "_nnls").nnls
    _fft = import_part("scipy.fft._pocketfft", "pypocketfft")
    dct = getattr(_fft, "pypocketfft", _fft).dct
    _special = import_part("scipy.special", "_ufuncs")
    globals().update({name: getattr(_special, name) for name in __all__ if name not in ("dct", "nnls")})
