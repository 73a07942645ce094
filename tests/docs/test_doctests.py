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
PLAIN_IN_PACKAGES = {"protect": {"VoiceProtector"}}  # an interface
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
TORCH = ("torch", "attributes.adversarial", "attributes.flow", "protect.models")
NEEDS = {"plot": "matplotlib", **dict.fromkeys(TORCH, "torch")}
# Examples that take seconds of processor time: whole audits and many figures.
SLOW = (
    *("zeroevidence.sample", "zeroevidence.auditing.embedding_audit", "zeroevidence.plot.kinds.search"),
    *("zeroevidence.plot.kinds.protectors", "zeroevidence.report.figures"),
)


def modules():
    names = [module.name for module in pkgutil.walk_packages(ze.__path__, "zeroevidence.")]
    names = [name for name in names if not name.endswith(("__main__", "triton_kernel"))]
    return [pytest.param(name, marks=slow) if name in SLOW else name for name in names]


def has_example(value):
    return ">>>" in (inspect.getdoc(value) or "")


def test_public_names_have_an_example():
    assert [name for name in sorted(set(ze.__all__) - PLAIN) if not has_example(getattr(ze, name))] == []


@pytest.mark.parametrize(("package", "needed"), [("plot", "matplotlib"), ("protect", "torch"), ("scorers", "sklearn")])
def test_public_names_of_the_packages_have_an_example(package, needed):
    pytest.importorskip(needed)
    home = getattr(ze, package)
    names = set(home.__all__) - PLAIN_IN_PACKAGES.get(package, set())
    assert [name for name in names if callable(getattr(home, name)) and not has_example(getattr(home, name))] == []


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
    assert doctest.testmod(module, optionflags=OPTIONS).failed == 0
