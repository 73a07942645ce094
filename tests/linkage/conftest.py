"""Helpers of these tests as fixtures, since test modules do not import each other."""

import importlib
import importlib.util
import os
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("zeroevidence_test_searches", Path(__file__).with_name("searches.py"))
searches = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(searches)


@pytest.fixture(scope="session")
def draw():
    """Random trials that resemble the identities they are mated with."""
    return searches.draw


@pytest.fixture(scope="session")
def check():
    """Compare a result with the score matrix."""
    return searches.check


@pytest.fixture(scope="session")
def arrays():
    """Names of everything a result holds."""
    return searches.ARRAYS


@pytest.fixture(scope="session")
def need():
    """Import an optional part: absent, the test is skipped, or fails where everything must be there."""

    def import_or_skip(module):
        if os.environ.get("ZEROEVIDENCE_REQUIRE_ALL"):
            return importlib.import_module(module)
        return pytest.importorskip(module)

    return import_or_skip
