"""Array types used in signatures throughout."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
StrArray: TypeAlias = NDArray[np.str_]
CountArray: TypeAlias = NDArray[Any]  # whole numbers, as integers or, in weighted replicates, as floats
