"""The functions of SciPy that are imported without its packages are those of the packages."""

import pytest

from tests.programs import printed_by

MISSING = """
import sys
class Missing:  # a version of SciPy whose packages have these modules elsewhere
    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, part = name.rpartition(".")
        if part in ("pypocketfft", "_nnls", "_ufuncs") and not hasattr(sys.modules[package], "__file__"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
"""
CODE = """
import sys
from zeroevidence import _scipy
print(sorted({"scipy.fft", "scipy.special", "scipy.optimize"} & set(sys.modules)))
import numpy as np, scipy.fft, scipy.optimize, scipy.special, scipy.stats
names = set(_scipy.__all__) - {"dct", "idct", "nnls"}
print(all(getattr(_scipy, name) is getattr(scipy.special, name) for name in names))
print(_scipy.nnls is scipy.optimize.nnls)
x = np.random.default_rng(0).normal(size=(3, 8))
print(np.allclose(_scipy.dct(x), scipy.fft.dct(x)), np.allclose(_scipy.idct(x), scipy.fft.idct(x)))
print(_scipy.import_part("scipy.special", "_ufuncs") is scipy.special)
"""
ALL = ["scipy.fft", "scipy.optimize", "scipy.special"]


@pytest.mark.parametrize(("before", "imported"), [("", []), (MISSING, ALL)])
def test_they_are_the_same_objects_and_the_packages_work_afterwards(before, imported):
    assert printed_by(before + CODE).splitlines() == [str(imported), "True", "True", "True True", "True"]
