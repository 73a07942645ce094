"""The registry of figures refuses names that are taken."""

import pytest

from zeroevidence.errors import UsageError
from zeroevidence.plot.kind import KINDS, figure


def test_names_that_are_taken_are_refused():
    def enter(paint):
        return figure("t", place=1, needs="n", caption="c.", has=lambda row: True)(paint)

    def ece(rows, ax):
        """Another one."""

    def pie(rows, ax, *, width: float = 1.0):
        """Its option is one of every figure."""

    before = dict(KINDS)
    with pytest.raises(UsageError, match="already a kind of figure called 'ece'"):
        enter(ece)
    with pytest.raises(ValueError, match="an option of 'pie' cannot be called 'width'"):
        enter(pie)
    assert before == dict(KINDS)
