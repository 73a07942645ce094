"""What most commands need of SciPy, without the packages around it, which take longer to import than NumPy and polars.

`scipy.special` and `scipy.optimize` prepare themselves for other libraries of arrays and import all that they have.
Their functions of NumPy's arrays are in modules of their own, and are the same objects in either place; `dct` and
`idct` are what `scipy.fft` calls. Where a version of SciPy keeps them elsewhere, they come from its public modules.
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
    *("bdtrc", "dct", "idct", "ndtr", "ndtri", "nnls", "stdtr", "stdtrit", "xlogy"),
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


def import_function(package: str, part: str, name: str) -> Any:
    """Import a function from a module of a part of SciPy, or from the part where this version has no such module."""
    try:
        return getattr(import_part(package, part), name)
    except (ImportError, AttributeError):
        return getattr(importlib.import_module(package), name)


if TYPE_CHECKING:
    from scipy.fft import dct as dct
    from scipy.fft import idct as idct
    from scipy.optimize import nnls as nnls
    from scipy.special import *  # noqa: F403
else:
    nnls = import_function("scipy.optimize", "_nnls", "nnls")
    for _name in set(__all__) - {"dct", "idct", "nnls"}:
        globals()[_name] = import_function("scipy.special", "_ufuncs", _name)
    try:
        _fft = import_part("scipy.fft._pocketfft", "pypocketfft")
    except ImportError:
        from scipy.fft import dct, idct
    else:
        _transform = getattr(_fft, "pypocketfft", _fft).dct
        dct, idct = (lambda x: _transform(x, 2, (-1,))), (lambda x: _transform(x, 3, (-1,), 2))
