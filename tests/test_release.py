"""What a release says of itself: version, authors, supported versions, the stages of CI; in all places the same."""

import importlib.util
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.conftest import NOT_INSTALLABLE
from zeroevidence import __version__
from zeroevidence.report.bibliography import bibtex

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
STAGES = ("lint", "lowest", "package", "tests")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def lowest_bounds(extras):
    """The lower bounds of the package and of its optional parts, by name."""
    requirements, parts = [*map(Requirement, PROJECT["dependencies"])], list(extras)
    while parts:
        for requirement in map(Requirement, PROJECT["optional-dependencies"][parts.pop()]):
            own = requirement.name == PROJECT["name"]
            parts += requirement.extras if own else []
            requirements += [] if own else [requirement]
    bounds = ((requirement.name, bound) for requirement in requirements for bound in requirement.specifier)
    return {name: bound.version for name, bound in bounds if bound.operator == ">="}


def pins(path):
    lines = [line for line in read(path).splitlines() if line and not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def lowest_stage():
    """The extras, the further packages and the tests of the stage `lowest`."""
    stage = read(".ci/run").split("lowest() {")[1].split("\n}")[0]
    extras, further = re.search(r"-e '\.\[([\w,]+)\]' (.+)", stage).groups()
    return extras.split(","), further.split(), re.findall(r"(?<= )tests/[\w/.]+", stage)


def table_below(path, heading):
    """The cells of each line of the table below a heading."""
    section = read(path).split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_the_changelog_has_the_release_below_what_is_not_released():
    headings = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.M)
    assert headings[:2] == ["Unreleased", f"{__version__} ({CITATION['date-released']})"]
    assert CITATION["version"] == __version__


def test_authors_are_those_of_the_citation():
    (author,) = [author["name"] for author in CITATION["authors"]]
    assert PROJECT["authors"] == [{"name": author}]
    assert f"author = {{{{{author}}}}}" in bibtex()
    assert f'author = "{author}"' in read("docs/conf.py")
    assert author in read("LICENSE")


def test_lowest_versions_are_those_that_the_project_allows():
    extras, _, _ = lowest_stage()
    allowed = {name: Version(version) for name, version in lowest_bounds(extras).items()}
    tested = {name: Version(version) for name, version in pins("constraints-lowest.txt").items()}
    assert {name: tested.get(name) for name in allowed} == allowed


def test_lowest_versions_on_the_page_are_those_tested():
    extras, _, _ = lowest_stage()
    rows = table_below("docs/versions.md", "Dependencies")
    assert {name: version for name, version, tested in rows if tested == "yes"} == lowest_bounds(extras)
    optional = set(PROJECT["optional-dependencies"]) - {"test", "lint", "docs"}
    assert {name: version for name, version, _ in rows} == lowest_bounds(optional)


def test_pythons_of_the_page_are_those_of_the_workflow():
    rows = table_below("docs/versions.md", "Python")
    tests = WORKFLOW["jobs"]["tests"]
    pythons = tests["strategy"]["matrix"]["python"]
    assert [row[0] for row in rows] == pythons
    assert [row[1] == "tested before each release" for row in rows] == [python == "3.11" for python in pythons]
    assert "matrix.python != '3.11'" in tests["continue-on-error"]
    versions = [entry.rpartition(" ")[2] for entry in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", entry)]
    assert versions == ["3.11"]
    assert PROJECT["requires-python"] == ">=3.11"


def test_what_ci_lacks_is_skipped_with_a_reason():
    """Where everything must be there, a part without which a test skips is one that README's test command installs."""
    if not os.environ.get("ZEROEVIDENCE_REQUIRE_ALL"):
        pytest.skip("not all parts must be on this machine")
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    names = {name.partition(".")[0] for name in re.findall(r'importorskip\("([\w.]+)"\)', tests)}
    assert "soundfile" in names
    assert {name for name in names if importlib.util.find_spec(name) is None} <= set(NOT_INSTALLABLE)


def test_the_workflow_runs_the_stages_there_are():
    jobs = WORKFLOW["jobs"]
    assert [*jobs["checks"]["strategy"]["matrix"]["stage"], "tests"] == list(STAGES)
    for job in jobs.values():
        assert job["strategy"]["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    assert jobs["checks"]["steps"][-1]["run"] == "bash .ci/run ${{ matrix.stage }}"
    assert jobs["tests"]["steps"][-1]["run"] == "bash .ci/run tests"


@pytest.mark.parametrize("failing", ["tests", "lowest", "package", None])
@pytest.mark.parametrize("named", [(), STAGES])
def test_all_stages_run_and_those_that_fail_are_named(failing, named, tmp_path):
    script = read(".ci/run")
    stages = [f"{name}() {{ echo {name}-starts; test {name} != {failing}; echo {name}-ends; }}" for name in STAGES]
    stages.append("repeated() { false; }")
    text = "\n".join(["set -euo pipefail", f"work={tmp_path}", f"stages=({' '.join(STAGES)})", *stages])
    run = ["bash", "-c", text + script[script.index("\neach_stage() {") :], "run", *named]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    ended = {f"{name}-{what}" for name in STAGES for what in ("starts", "ends")} - {f"{failing}-ends"}
    assert {word for word in done.stdout.split() if "-" in word} == ended
    assert (done.returncode, "all checks passed" in done.stdout) == ((0, True) if failing is None else (1, False))
    assert done.stderr == ("" if failing is None else f"CHECKS FAILED, see above: {failing}\n")


@pytest.mark.parametrize("failing", [("tests",), ("tests", "lint")])
def test_tests_that_pass_when_they_are_run_alone_have_passed(failing, tmp_path):
    script = read(".ci/run")
    stages = [f"{name}() {{ {'false' if name in failing else 'true'}; }}" for name in STAGES]
    stages.append("repeated() { echo once-more; }")
    text = "\n".join(["set -euo pipefail", f"work={tmp_path}", f"stages=({' '.join(STAGES)})", *stages])
    run = ["bash", "-c", text + script[script.index("\neach_stage() {") :]]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert "once-more" in done.stdout
    assert done.returncode == (len(failing) > 1)
    assert done.stderr == ("" if len(failing) == 1 else "CHECKS FAILED, see above: lint\n")
