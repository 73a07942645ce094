"""The examples in docstrings of what reads data are run."""

import doctest
import importlib
import pkgutil
import tempfile

import pytest

import zeroevidence.data
from zeroevidence.data import formats

MODULES = [
    name for _, name, _ in pkgutil.walk_packages(zeroevidence.data.__path__, "zeroevidence.data.") if "__" not in name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", ["read_scores", "read_embeddings", "read_prior", "read_tandem"])
def test_readers_show_an_example(name):
    assert doctest.DocTestFinder(recurse=False).find(getattr(formats, name))[0].examples


@pytest.mark.parametrize("name", ["find_rows", "read_summary"])
def test_results_of_challenges_have_an_example(name):
    (room,) = doctest.DocTestFinder(recurse=False).find(formats.scores)
    assert any(f"{name}(" in example.source for example in room.examples)
