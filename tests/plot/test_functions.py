"""What the functions say about themselves, what can be handed to them, and that their examples work."""

import doctest
import inspect

import pytest

import zeroevidence as ze
from tests.effort import spread
from zeroevidence.errors import InputError, UsageError
from zeroevidence.plot import KINDS
from zeroevidence.plot.rows import evaluate_scores

pytest.importorskip("matplotlib")
Figure = pytest.importorskip("matplotlib.figure").Figure

TARGET, NONTARGET = [2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1]


def drawn(ax):
    """The data of every line."""
    return [one.get_xydata().tolist() for one in ax.get_lines()]


@pytest.mark.parametrize("name", spread(list(KINDS), 12))
def test_documentation_and_its_example(name):
    kind = KINDS[name]
    documentation = inspect.getdoc(kind.function)
    assert documentation.splitlines()[0] == inspect.getdoc(kind.paint).splitlines()[0]
    assert f"Needs {kind.needs}." in documentation
    assert "Returns\n-------" in documentation
    (example,) = doctest.DocTestFinder(recurse=False).find(kind.function, kind.name, globs={})
    assert any(f"ze.plot.{kind.function.__name__}(" in one.source for one in example.examples)
    assert any(one.want for one in example.examples)
    said = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=said.append).failed == 0, "".join(said)


def test_two_arrays_are_enough_where_one_to_one_scores_are():
    result = evaluate_scores(TARGET, NONTARGET)
    able = [name for name, kind in KINDS.items() if kind.from_scores]
    assert able == ze.plot.available(result)
    assert {"ece", "scatter"} < set(able) < set(KINDS)
    for name in able:
        ax = Figure().add_subplot()
        function = KINDS[name].function
        assert function(TARGET, NONTARGET, ax=ax) is ax
        assert drawn(ax) == drawn(function(result))
        assert drawn(ax) == drawn(function([result]))


@pytest.mark.parametrize("library", ["numpy", "polars", "pandas", "torch", "tuple"])
def test_arrays_of_any_library(library):
    if library == "tuple":
        made = tuple(TARGET), tuple(NONTARGET)
    else:
        module = pytest.importorskip(library)
        make = {"numpy": "array", "torch": "tensor"}.get(library, "Series")
        options = {"dtype": module.float64} if library == "torch" else {}
        made = [getattr(module, make)(values, **options) for values in (TARGET, NONTARGET)]
    assert drawn(ze.plot.det(*made)) == drawn(ze.plot.det(TARGET, NONTARGET))


def test_what_cannot_be_drawn_is_said():
    result = evaluate_scores(TARGET, NONTARGET)
    for results, nontarget, words in (
        (TARGET, None, "expected results of `evaluate`, or target and non-target scores, got float"),
        (ze.Scores(TARGET, NONTARGET), None, "got Scores"),
        ([], None, "expected at least one result, got none"),
        (result, result, "expected several results as one list"),
    ):
        with pytest.raises(UsageError, match=words):
            ze.plot.ece(results, nontarget)
    with pytest.raises(InputError, match="nontarget: expected at least one score"):
        ze.plot.ece(TARGET, [])
    with pytest.raises(UsageError, match="'people' cannot be drawn from two arrays of scores; it needs a search"):
        ze.plot.people(TARGET, NONTARGET)


def test_options_are_checked_by_the_signature():
    with pytest.raises(UsageError, match="x: expected one of log-odds, prior, got 'eer'"):
        ze.plot.ece(TARGET, NONTARGET, x="eer")
    with pytest.raises(UsageError, match="x: expected a string, got 3"):
        ze.plot.scatter(TARGET, NONTARGET, x=3)
    with pytest.raises(UsageError, match="the figure 'det' has no option 'x'; it takes none"):
        ze.plot.det(TARGET, NONTARGET, x="prior")
    # By name None counts as not given.
    ze.plot.draw("ece", evaluate_scores(TARGET, NONTARGET), x=None)
