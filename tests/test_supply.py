"""The source uses no pickle and no private parts of other packages."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "zeroevidence"
RUN_ON_LOADING = ("pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve")
# One module reads JSON and checks its types; the others read what a process of ours wrote, or what is bundled.
JSON_READERS = ("data/json_values.py", "data/writing.py", "web/jobs.py", "attack/encoders/__init__.py")


@pytest.fixture(scope="module")
def sources():
    """The syntax tree of every module, by its path in the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


def calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_no_private_modules_and_no_pickle(sources):
    faults = []
    for path, tree in sources.items():
        for name in imports(tree):
            first, *rest = name.split(".")
            own = first in ("zeroevidence", "__future__")
            private = any(part.startswith("_") for part in (first, *rest)) and not own
            if private or first in RUN_ON_LOADING:
                faults.append((path, name))
    assert len(sources) > 200
    assert faults == []


def test_files_that_are_loaded_cannot_run_code(sources):
    faults = []
    for path, tree in sources.items():
        for call in calls(tree):
            function = ast.unparse(call.func)
            options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            unsafe_load = function == "torch.load" and options.get("weights_only") != "True"
            unsafe_array = function == "np.load" and options.get("allow_pickle", "False") != "False"
            if unsafe_load or unsafe_array or function in ("eval", "exec"):
                faults.append((path, ast.unparse(call)))
    assert faults == []


def test_json_is_read_by_the_checking_reader_alone(sources):
    called = {path: {ast.unparse(call.func) for call in calls(tree)} for path, tree in sources.items()}
    readers = {path for path, names in called.items() if names & {"json.load", "json.loads"}}
    assert readers <= set(JSON_READERS)
