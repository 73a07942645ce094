"""The tables of back-ends and extractors: one new file is enough, and nothing heavy is imported for them."""

import ast
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

from tests.programs import modules_after
from zeroevidence.attack.backends import BACKENDS
from zeroevidence.attack.extractors import EXTRACTORS
from zeroevidence.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


@pytest.mark.parametrize("kind", [kind for kind in BACKENDS.values() if kind.learns], ids=lambda kind: kind.name)
def test_back_ends_that_must_be_trained_say_so(kind):
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    with pytest.raises(UsageError, match="call fit"):
        kind.make().score(vectors, vectors)


def test_pages_have_a_row_for_each():
    attackers = (ROOT / "docs" / "attackers.md").read_text(encoding="utf-8")
    for kind in BACKENDS.values():
        assert f"| `{kind.name}` | {kind.title} | {', '.join(kind.learns)} |" in attackers
    corpus = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for family in EXTRACTORS.values():
        assert family.extra in project["optional-dependencies"]
        assert f"| {family.title} | {', or '.join(family.forms)} | `{family.extra}` |" in corpus


def test_nothing_heavy_is_imported():
    modules = ("backends", "extractors", "ladder", "extractors.extract")
    code = "".join(f"import zeroevidence.attack.{module}\n" for module in modules)
    heavy = {"torch", "onnxruntime", "resemblyzer", "speechbrain", "soundfile", "soxr", "polars"}
    assert not heavy & modules_after(code)


def test_modules_do_not_import_one_another_in_circles():
    paths = (SOURCE / "zeroevidence" / "attack").rglob("*.py")
    files = {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    graph = {name: _imported(path) & set(files) - {name} for name, path in files.items()}
    assert graph["zeroevidence.attack.backends.cosine"] >= {"zeroevidence.attack.backends.plda"}
    TopologicalSorter(graph).prepare()  # refuses circles


def _imported(path):
    """Modules that a file names in its imports, wherever they stand."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found
