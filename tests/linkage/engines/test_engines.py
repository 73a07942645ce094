"""The table of engines: what registers is known by name, and "auto" takes the best that can."""

import pkgutil
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.linkage.searches import draw, linked, same
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.linkage import engine_names, engines
from zeroevidence.linkage.engines import ENGINES, Requirements, best, choose, register
from zeroevidence.linkage.engines.numpy_blocks import NumpyEngine
from zeroevidence.run import Run

SINGLE = Requirements(dim=8, double=False, function=False)


@pytest.fixture(autouse=True)
def registered():
    """The engines without those of a test, which are gone afterwards."""
    table = dict(ENGINES)
    yield table
    for name in set(ENGINES) - set(table):
        ENGINES.remove(name)


def fake(**attributes):
    """An engine that is NumPy's in all but name, and remembers the runs it did."""

    class Fake(NumpyEngine):
        name = "fake"

        def __init__(self):
            type(self).seen = []

        def compute(self, plan, runs, run):
            self.seen.append((list(runs), run))
            yield from super().compute(plan, runs, run)

    for name, value in attributes.items():
        setattr(Fake, name, value)
    if "fake" in ENGINES:
        ENGINES.remove("fake")
    return register(Fake)


def test_every_module_of_the_package_registers_its_engine(registered):
    modules = {f"{engines.__name__}.{module.name}" for module in pkgutil.iter_modules(engines.__path__)}
    assert {type(engine).__module__ for engine in registered.values()} == modules
    assert engine_names() == ("auto", *sorted(registered))
    assert {"dask", "numpy", "rows", "torch", "triton"} <= set(registered)


def test_a_registered_engine_is_used_by_name():
    x, y, mated = draw(trials=50, identities=40)
    with pytest.raises(UsageError, match=r"unknown engine 'fake'; expected dask, numpy, .*triton"):
        linked(x, y, mated, weight=3.0, engine="fake")
    engine = fake()
    found = linked(x, y, mated, run=Run(cores=3), weight=3.0, engine="fake", block=20)
    ((runs, run),) = engine.seen
    assert runs == [(0, 20), (20, 40), (40, 50)]
    assert run.cores == 3
    same(found, linked(x, y, mated, weight=3.0, engine="numpy", block=20), 0.0)
    assert "fake" in engine_names()


def test_auto_takes_the_best_that_is_here_and_can():
    x, y, mated = draw(trials=20, identities=30)
    engine = fake(priority=lambda self, requirements: 99 if not requirements.double else 0)
    assert best(SINGLE).name == "fake"
    linked(x.astype(np.float32), y.astype(np.float32), mated, weight=1.0)
    assert len(engine.seen) == 1
    linked(x, y, mated, weight=1.0)  # double precision is not for it
    assert len(engine.seen) == 1
    assert best(replace(SINGLE, precision=64)).name == "fake"
    engine.precisions = ("float32",)
    assert best(replace(SINGLE, precision=64)).name != "fake"
    engine.precisions, engine.functions = NumpyEngine.precisions, False
    assert best(Requirements(8, False, function=True)).name == "rows"
    engine.modules = ("no_such_module",)
    assert best(SINGLE).name != "fake"


def test_an_engine_that_is_not_here_says_what_it_needs():
    fake(modules=("no_such_module",), extra="cluster")
    with pytest.raises(MissingExtra, match=r"engine fake needs .*zeroevidence\[cluster\]"):
        choose("fake", SINGLE)
    fake(modules=("no_such_module",), needs="a machine of the future")
    with pytest.raises(UsageError, match="engine fake needs a machine of the future"):
        choose("fake", SINGLE)


def test_nothing_suits_what_nobody_can():
    with pytest.raises(UsageError, match="expected products of float16 or float32 or float64 inputs, got float8"):
        best(replace(SINGLE, precision=8))


def test_a_scoring_function_may_name_numpy():
    x, y, mated = draw(trials=30, identities=40)
    options = {"weight": 3.0, "scoring": lambda a, b: a @ b.T}
    by_name, auto = (linked(x, y, mated, engine=name, **options) for name in ("numpy", "auto"))
    np.testing.assert_array_equal(by_name.lid, auto.lid)


def test_the_page_lists_what_is_registered(registered):
    page = (Path(__file__).parents[3] / "docs" / "scale.md").read_text(encoding="utf-8")
    table = page[page.index("| engine | needs |") :].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", table, flags=re.MULTILINE)
    assert dict(rows) == {name: engine.needs for name, engine in registered.items()}
