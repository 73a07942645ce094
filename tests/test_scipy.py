"""The functions of SciPy that are imported without its packages are those of the packages."""

from tests.programs import printed_by

CODE = """
import sys
from zeroevidence import _scipy
print({"scipy.fft", "scipy.special", "scipy.optimize"} & set(sys.modules))
import scipy.fft, scipy.optimize, scipy.special, scipy.stats
special = {"nnls": scipy.optimize, "dct": scipy.fft._pocketfft.realtransforms.pfft}
packages = {name: special.get(name, scipy.special) for name in _scipy.__all__}
print(all(getattr(_scipy, name) is getattr(package, name) for name, package in packages.items()))
print(_scipy.import_part("scipy.special", "_ufuncs") is scipy.special)
"""


def test_they_are_the_same_objects_and_the_packages_work_afterwards():
    assert printed_by(CODE).split("\n") == ["set()", "True", "True", ""]
