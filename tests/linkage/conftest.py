"""Helpers of these tests as fixtures."""

import pytest

from tests.linkage import searches


@pytest.fixture(scope="session")
def draw():
    """Random trials that resemble the identities they are mated with."""
    return searches.draw


@pytest.fixture(scope="session")
def check():
    """Compare a result with the score matrix."""
    return searches.check


@pytest.fixture(scope="session")
def same():
    """Compare everything two results hold, up to rounding."""
    return searches.same


@pytest.fixture
def engine(request):
    """Name of an engine, whose test is skipped where it is not installed."""
    if request.param == "torch":
        pytest.importorskip("torch")
    return request.param
