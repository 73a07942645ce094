"""Every public function and class has an example, and all examples of the package run."""

import doctest
import importlib
import inspect
import pkgutil
import tempfile

import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.attack.backends.backend import make_backend
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.backends.score_norm import ScoreNorm
from zeroevidence.attack.extractors.extractor import load_extractor
from zeroevidence.attack.ladder.adapter import Adapter
from zeroevidence.data.formats.asvspoof.read import read_tandem
from zeroevidence.data.formats.lists.prior import read_prior
from zeroevidence.data.formats.scores.reading.read import read_scores
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.data.formats.voiceprivacy.published_tables import read_summary
from zeroevidence.data.formats.voiceprivacy.result_folders import find_kit_scores
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


# Examples that take many seconds of processor time: whole audits.
SLOW = (
    "zeroevidence.sample.audits",
    "zeroevidence.auditing.embedding_audit",
)
# Modules and functions of parts that are used by themselves, beside the public names of the package.
MODULES_WITH_EXAMPLES = [
    "zeroevidence.linkage.calibration.statistics",
    "zeroevidence.linkage.search",
    "zeroevidence.linkage.inputs.pairing",
    "zeroevidence.linkage.inputs.scoring",
]
FUNCTIONS_WITH_EXAMPLES = [
    *(Cosine, Plda, ScoreNorm, Adapter, make_backend, load_extractor),
    *(read_scores, read_embeddings, read_prior, read_tandem, find_kit_scores, read_summary),
]


def modules():
    names = [module.name for module in pkgutil.walk_packages(ze.__path__, "zeroevidence.")]
    names = [name for name in names if not name.endswith(("__main__", "triton_kernel"))]
    return [pytest.param(name, marks=slow) if name in SLOW else name for name in names]


@pytest.mark.parametrize("name", [*SLOW, *MODULES_WITH_EXAMPLES])
def test_module_has_examples(name):
    assert sum(len(part.examples) for part in doctest.DocTestFinder().find(importlib.import_module(name))) > 0


@pytest.mark.parametrize("public", FUNCTIONS_WITH_EXAMPLES)
def test_function_or_class_has_an_example(public):
    assert doctest.DocTestFinder(recurse=False).find(public)[0].examples


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
