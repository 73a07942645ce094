"""The examples in docstrings of what reads data are run."""

import doctest
import importlib
import pkgutil
import tempfile

import pytest

import zeroevidence.data
from zeroevidence.data.formats.asvspoof.read import read_tandem
from zeroevidence.data.formats.lists.prior import read_prior
from zeroevidence.data.formats.scores.reading.read import read_scores
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.data.formats.voiceprivacy.published_tables import read_summary
from zeroevidence.data.formats.voiceprivacy.result_folders import find_kit_scores

MODULES = [
    name for _, name, _ in pkgutil.walk_packages(zeroevidence.data.__path__, "zeroevidence.data.") if "__" not in name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    "reader", [read_scores, read_embeddings, read_prior, read_tandem, find_kit_scores, read_summary]
)
def test_readers_show_an_example(reader):
    assert doctest.DocTestFinder(recurse=False).find(reader)[0].examples
