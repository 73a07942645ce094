"""The examples in docstrings say what happens."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["calibration.statistics", "search", "inputs.pairing", "inputs.scoring", "evidence.summary"]
)
def test_examples(name):
    found = doctest.testmod(importlib.import_module(f"zeroevidence.linkage.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
