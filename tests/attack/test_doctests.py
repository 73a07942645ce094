"""The examples in docstrings, and that what people call has one."""

import doctest
import importlib
import pkgutil

import pytest

from zeroevidence import attack
from zeroevidence.attack.backends.backend import make_backend
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.backends.score_norm import ScoreNorm
from zeroevidence.attack.extractors.extractor import load_extractor
from zeroevidence.attack.ladder.adapter import Adapter

MODULES = [found.name for found in pkgutil.walk_packages(attack.__path__, "zeroevidence.attack.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.importorskip(error.name)  # an optional part
        raise
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("called", [Cosine, Plda, ScoreNorm, Adapter, make_backend, load_extractor])
def test_what_people_call_has_examples(called):
    assert len(doctest.DocTestParser().get_examples(called.__doc__)) > 1
