"""The tables of back-ends and extractors: one new file is enough, and nothing heavy is imported for them."""

import ast
import importlib
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

from zeroevidence.attack.backends.backend import BACKENDS, make_backend
from zeroevidence.attack.extractors.extractor import EXTRACTORS, expected_names, load_extractor
from zeroevidence.errors import InputError, UsageError

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

EUCLIDEAN = """
import numpy as np

from zeroevidence.attack.backends.vectors import VectorEstimator
from zeroevidence.attack.backends.backend import BACKENDS, BackendKind


class Euclidean(VectorEstimator):
    name = "euclidean"

    def fit(self, vectors, speakers):
        return self

    def score(self, enrol, trial):
        return -np.linalg.norm(trial[:, None] - enrol[None], axis=2)


BACKENDS.add(BackendKind("euclidean", "Minus the distance", (), Euclidean))
"""

LOUDNESS = """
import numpy as np

from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily


class Loudness:
    name, dim, fingerprint = "loudness", 1, "loudness:1"

    def __init__(self, name, *, threads):
        self.sample_rate = int(name.partition(":")[2])

    def embed(self, waves):
        return np.array([[np.std(wave)] for wave in waves], np.float32)


EXTRACTORS.add(
    ExtractorFamily(
        "loudness", "One number", ("loudness:RATE",), "speech", lambda name: name.startswith("loudness:"), Loudness
    )
)
"""


@pytest.fixture
def new_module(tmp_path, monkeypatch):
    """Import text as a module; what it enters into the tables is gone after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = [(table, set(table)) for table in (BACKENDS, EXTRACTORS)]

    def imported(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    yield imported
    for table, names in before:
        for name in set(table) - names:
            table.remove(name)


def test_a_new_back_end_has_a_name(new_module):
    with pytest.raises(UsageError, match="unknown back-end 'euclidean'"):
        make_backend("euclidean")
    module = new_module("my_distances", EUCLIDEAN)
    assert list(BACKENDS) == sorted(BACKENDS)
    assert not BACKENDS.find("euclidean").trains
    made = make_backend("euclidean")
    assert type(made) is module.Euclidean
    assert made.score(np.zeros((1, 2)), np.array([[3.0, 4.0]])).tolist() == [[-5.0]]
    with pytest.raises(UsageError, match=f"expected {', '.join(BACKENDS)}"):
        make_backend("manhattan")


def test_a_new_extractor_has_a_name(new_module):
    with pytest.raises(InputError, match="no such extractor"):
        load_extractor("loudness:8000")
    new_module("my_encoders", LOUDNESS)
    assert load_extractor("loudness:8000").sample_rate == 8000
    assert ", loudness:RATE, " in expected_names()
    with pytest.raises(InputError, match=", loudness:RATE, "):
        load_extractor("wishful")


@pytest.mark.parametrize(
    ("package", "text", "use"),
    [
        (
            "backends",
            EUCLIDEAN,
            "from zeroevidence.attack.backends.backend import make_backend; make_backend('euclidean')",
        ),
        (
            "extractors.families",
            LOUDNESS,
            "from zeroevidence.attack.extractors.extractor import load_extractor; load_extractor('loudness:8000')",
        ),
    ],
)
def test_one_new_file_in_the_folder_is_enough(tmp_path, package, text, use):
    (tmp_path / "brand_new.py").write_text(text)
    code = f"""
import sys
from importlib.util import find_spec, module_from_spec
spec = find_spec("zeroevidence.attack.{package}")
spec.submodule_search_locations.append({str(tmp_path)!r})  # as if the file lay in the package
package = sys.modules[spec.name] = module_from_spec(spec)
spec.loader.exec_module(package)
{use}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_families_are_asked_before_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []
    for name in ("onnx", "resemblyzer"):
        family = EXTRACTORS[name]
        changed = type(family)(
            *(getattr(family, field) for field in ("name", "title", "forms", "extra", "takes")),
            load=lambda words, threads, name=name: asked.append((name, words, threads)),
            files=family.files,
        )
        monkeypatch.setitem(EXTRACTORS._entries, name, changed)
    Path("resemblyzer").write_text("{}")
    Path("card.json").write_text("{}")
    Path("odd#name.json").write_text("{}")
    for words in ("resemblyzer", "Resemblyzer", "card.json", "card.json#b", "odd#name.json"):
        load_extractor(words, threads=2)
    assert asked == [
        ("resemblyzer", "resemblyzer", 2),
        ("resemblyzer", "Resemblyzer", 2),
        ("onnx", "card.json", 2),
        ("onnx", "card.json#b", 2),
        ("onnx", "odd#name.json", 2),
    ]


@pytest.mark.parametrize("kind", [kind for kind in BACKENDS.values() if kind.trains], ids=lambda kind: kind.name)
def test_back_ends_that_must_be_trained_say_so(kind):
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    with pytest.raises(UsageError, match="call fit"):
        kind.make().score(vectors, vectors)


def test_pages_have_a_row_for_each():
    attackers = (ROOT / "docs" / "attackers.md").read_text(encoding="utf-8")
    for kind in BACKENDS.values():
        assert f"| `{kind.name}` | {kind.title} | {', '.join(kind.learns)} |" in attackers
    corpus = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")
    for family in EXTRACTORS.values():
        assert f"| {family.title} | {', or '.join(family.forms)} | `{family.extra}` |" in corpus


def test_extras_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {family.extra for family in EXTRACTORS.values()} <= set(project["optional-dependencies"])


@pytest.mark.parametrize(
    "package", ["backends.backend", "extractors.extractor", "ladder.adapter", "extractors.extract"]
)
def test_nothing_heavy_is_imported(package):
    code = f"import zeroevidence.attack.{package}, sys; print(*sys.modules)"
    listing = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "onnxruntime", "resemblyzer", "speechbrain", "soundfile", "soxr", "polars"}
    assert not heavy & set(listing.stdout.split())


def test_modules_do_not_import_one_another_in_circles():
    files = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (SOURCE / "zeroevidence" / "attack").rglob("*.py")
    }
    graph = {name: _imported(path) & set(files) - {name} for name, path in files.items()}
    assert graph["zeroevidence.attack.backends.whitened"] >= {"zeroevidence.attack.backends.plda"}
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
