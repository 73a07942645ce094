"""The table of sentences: every flag and every sentence of a verdict, with a test on either side of its condition."""

import ast
import re
from pathlib import Path

import pytest

from zeroevidence.evaluation.rows.flags import FLAGS

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = ROOT / "src" / "zeroevidence" / "report" / "verdict"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def table_rows(heading):
    """The cells of each line of the table below a heading of the page."""
    text = (ROOT / "docs" / "sentences.md").read_text(encoding="utf-8")
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def ends_a_sentence(node):
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value.endswith(".") or ". " in node.value


def docstrings(tree):
    """The first strings of modules, classes and functions."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, owners)]
    return {body[0].value for body in bodies if body and isinstance(body[0], ast.Expr)}


def verdict_functions():
    """All functions of verdicts by name, and whether each says something.

    It does with a string that ends a sentence, with the name of such a constant, or as that of headlines.
    """
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in VERDICTS.glob("*.py")}
    constants = {
        target.id
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.Assign) and any(map(ends_a_sentence, ast.walk(node.value)))
        for target in node.targets
    }
    functions = {}
    for module, tree in trees.items():
        texts = docstrings(tree)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                parts = [node for node in ast.walk(function) if node not in texts]
                says = any(ends_a_sentence(node) or getattr(node, "id", None) in constants for node in parts)
                functions[f"{module}.{function.name}"] = says or function.name == "_headline"
    return functions


def test_every_flag_is_in_the_table_with_its_severity():
    rows = table_rows("Flags")
    assert {row[0].strip("`"): row[1] for row in rows} == {code: severity for code, (severity, _) in FLAGS.items()}
    assert len(rows) == len(FLAGS)


def test_every_function_that_says_something_is_in_the_table():
    listed, functions = {row[0].strip("`") for row in table_rows("Verdicts and summaries")}, verdict_functions()
    assert {name for name, says in functions.items() if says} <= listed <= set(functions)
    assert not functions["phrases.percent"]


@pytest.mark.parametrize("heading", ["Flags", "Verdicts and summaries"])
def test_both_sides_of_every_condition_have_a_test(heading):
    for row in table_rows(heading):
        assert len(row) == 5, row
        assert all(row), row
        for side in row[3:]:
            named = TEST.findall(side)
            assert named, row
            for path, name in named:
                tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
                assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, name)
