"""The page on the public API lists what there is: names, commands, exit codes and schemas, no more and no fewer."""

import ast
import re
import sys
from pathlib import Path

import pytest

import zeroevidence as ze
from zeroevidence import errors
from zeroevidence._lazy import attach
from zeroevidence.cli import cli

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "public-api.md").read_text(encoding="utf-8")


def first_cells(heading, head):
    """The first cells of the table with that head below a heading of the page."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    table = section.split(f"| {head} | ")[1].split("\n\n")[0]
    return [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]


def listed(heading, head="name"):
    """The names in the first column of that table."""
    names = [name for cell in first_cells(heading, head) for name in re.findall(r"`([^`]+)`", cell)]
    assert len(set(names)) == len(names)
    return set(names)


@pytest.mark.parametrize(
    "package", ["zeroevidence", "zeroevidence.plot", "zeroevidence.protect", "zeroevidence.scorers"]
)
def test_names_of_packages_are_those_listed(package):
    home = ze if package == "zeroevidence" else getattr(ze, package.rpartition(".")[2])
    assert listed(f"`{package}`") == set(home.__all__)


def test_metrics_for_training_loops_are_those_listed():
    tree = ast.parse((ROOT / "src" / "zeroevidence" / "contrib" / "torchmetrics.py").read_text(encoding="utf-8"))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
    assert listed("`zeroevidence.contrib.torchmetrics`") == classes


def test_commands_are_those_listed():
    assert listed("Commands", "command") == set(cli.list_commands(None))


def test_exit_codes_are_those_listed():
    codes = {int(code) for cell in first_cells("Commands", "exit code") for code in cell.split(", ")}
    raised = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")}
    assert codes == raised | {0, 1} | {129, 130, 143}


def test_schemas_of_files_are_those_listed():
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src" / "zeroevidence").rglob("*.py"))
    assert listed("Files", "schema") == {
        name for text in sources for name in re.findall(r'^SCHEMA = "(.+)"', text, re.M)
    }


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose function got a new name."""
    folder = tmp_path / "renaming"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "home.py").write_text("def present():\n    return 1\n")
    (folder / "__init__.pyi").write_text("from renaming.home import present as present\n\nbefore = present\n")
    monkeypatch.syspath_prepend(tmp_path)
    import renaming

    renaming.__getattr__, renaming.__dir__, renaming.__all__ = attach("renaming", renaming.__file__)
    yield renaming
    for name in ("renaming", "renaming.home"):
        sys.modules.pop(name, None)


def test_a_former_name_works_warns_each_time_and_is_not_listed(package):
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="renaming.before is present now") as caught:
            assert package.before is package.present
        assert caught[0].filename == __file__
    assert package.__all__ == ["present"] == package.__dir__()
    with pytest.raises(AttributeError):
        package.nonsense  # noqa: B018


def test_a_present_name_does_not_warn(package):
    assert package.present() == 1  # warnings are errors here
