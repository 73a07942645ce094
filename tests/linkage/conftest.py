import pytest


@pytest.fixture
def engine(request):
    """Name of an engine, whose test is skipped where it is not installed."""
    if request.param == "torch":
        pytest.importorskip("torch")
    return request.param
