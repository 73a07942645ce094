"""Validation of the arguments of public measures."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray
from zeroevidence.data.scores import read_only_scores

P = ParamSpec("P")
T = TypeVar("T")


def takes_scores(
    function: Callable[Concatenate[FloatArray, FloatArray, P], T],
) -> Callable[Concatenate[ArrayLike, ArrayLike, P], T]:
    """Let a measure of target and non-target arrays take lists, arrays, series and tensors.

    NaN, strings, empty arrays and more than one dimension are refused; infinite scores are accepted.
    """

    @wraps(function)
    def checked(target: ArrayLike, nontarget: ArrayLike, *args: P.args, **options: P.kwargs) -> T:
        tar, non = read_only_scores(target, "target"), read_only_scores(nontarget, "nontarget")
        return function(tar, non, *args, **options)

    return checked  # type: ignore[return-value]  # a wrapper is a callable of the same arguments
