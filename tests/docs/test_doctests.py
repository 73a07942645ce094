"""Every public function and class has an example, and all examples of the package run."""

import doctest
import importlib
import inspect
import pkgutil
import tempfile

import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.errors import MissingExtra

# What needs no example: errors say what they are, and a mapping of modules is no function.
PLAIN = {"InputError", "MissingExtra", "UsageError", "ZeroEvidenceError", "__version__", "plot", "protect", "scorers"}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NEEDS = {
    "torch": "torch",
    "plot": "matplotlib",
    "attributes.adversarial": "torch",
    "attributes.flow": "torch",
    "protect.models": "torch",
}


# Examples that take seconds of processor time.
SLOW = {
    "zeroevidence.sample.audits",
    "zeroevidence.auditing.attacks",
    "zeroevidence.evaluation.planning.two_systems",
}


def modules():
    names = [module.name for module in pkgutil.walk_packages(ze.__path__, "zeroevidence.")]
    names = [name for name in names if not name.endswith(("__main__", "triton_kernel"))]
    assert set(names) >= SLOW
    return [pytest.param(name, marks=slow) if name in SLOW else name for name in names]


@pytest.mark.parametrize("name", sorted(set(ze.__all__) - PLAIN))
def test_public_names_have_an_example(name):
    assert ">>>" in (inspect.getdoc(getattr(ze, name)) or ""), f"{name} has no example"


@pytest.mark.parametrize("package", ["plot", "protect", "scorers"])
def test_public_names_of_the_packages_have_an_example(package):
    if package == "plot":
        pytest.importorskip("matplotlib")
    if package == "protect":
        pytest.importorskip("torch")
    home = getattr(ze, package)
    functions = [name for name in home.__all__ if inspect.isclass(getattr(home, name)) or callable(getattr(home, name))]
    without = [name for name in functions if ">>>" not in (inspect.getdoc(getattr(home, name)) or "")]
    assert without == [] or (package == "protect" and set(without) <= {"VoiceProtector"}), without


@pytest.mark.parametrize("name", modules())
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for part, needed in NEEDS.items():
        if part in name:
            pytest.importorskip(needed)
    try:
        module = importlib.import_module(name)
    except (MissingExtra, ModuleNotFoundError) as error:
        pytest.skip(f"{name} needs an optional part: {error}")
    results = doctest.testmod(module, optionflags=OPTIONS)
    assert results.failed == 0
