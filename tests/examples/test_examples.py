"""Every example script runs on the bundled data and writes what the gallery shows."""

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.effort import slow
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "docs" / "gallery"
# Networks learn a little differently on other processors: tolerances of rates, and of counts of vectors.
LEARNT = {"attribute.py": (0.05, 40.0)}
ATTACKERS = set(CLASSIFIERS)  # which of them is the strongest may differ as well
SLOW = {"attribute.py", "linkability.py", "search.py", "tandem.py"}  # train networks, audit, or draw much
SCRIPTS = sorted(path.name for path in (ROOT / "examples").glob("[!_]*.py"))


def run(name, *arguments):
    """A script as a process of its own."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / name), *map(str, arguments)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def run_here(name, *arguments, learns=True):
    """A script in this process, which has imported what it needs; one that learns has a process of its own."""
    if learns and name in LEARNT:
        return run(name, *arguments)
    path, out, err, code = ROOT / "examples" / name, io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", [str(path), *map(str, arguments)]),
        mock.patch.object(sys, "path", [str(path.parent), *sys.path]),
        mock.patch.object(sys, "dont_write_bytecode", True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as stop:
            code = stop.code
    return subprocess.CompletedProcess(name, code, out.getvalue(), err.getvalue())


def agree(cell, expected, name):
    """Whether a cell is the one in the gallery, but for what may differ between machines."""
    if name in LEARNT and re.fullmatch(r"-?\d+(\.\d+)?", cell) and re.fullmatch(r"-?\d+(\.\d+)?", expected):
        rate, count = LEARNT[name]
        return float(cell) == pytest.approx(float(expected), rel=0.2, abs=rate if "." in cell else count)
    if name in LEARNT and {cell, expected} <= ATTACKERS:
        return True
    if re.fullmatch(r"-?\d+\.\d+", cell):  # the last digit
        return float(cell) == pytest.approx(float(expected), abs=1.01 * 10 ** -len(cell.partition(".")[2]))
    return cell == expected


def cells(text):
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines()]


@pytest.mark.parametrize("name", [pytest.param(name, marks=slow) if name in SLOW else name for name in SCRIPTS])
def test_script_writes_what_the_gallery_shows(name, tmp_path):
    done = run_here(name, "-o", tmp_path)
    if done.returncode == 4:
        pytest.skip(f"could not import what {name} needs: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {path.name for path in GALLERY.glob(f"{Path(name).stem}-*")}
    for path in tmp_path.glob("*.md"):
        here, there = cells(path.read_text()), cells((GALLERY / path.name).read_text())
        assert len(here) == len(there)
        for here_row, there_row in zip(here, there, strict=True):
            for cell, expected in zip(here_row, there_row, strict=True):
                assert agree(cell, expected, name)
    again = run_here(name, "-o", tmp_path, learns=False)  # it is refused before it does
    assert again.returncode == 2
    assert "exists; --overwrite replaces it" in again.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_names_the_folder(name):
    done = run_here(name, "--help", learns=False)
    assert done.returncode == 0
    assert "--output" in done.stdout


def test_a_missing_folder_is_one_line(tmp_path):
    done = run_here("zebra.py", "-o", tmp_path, "--data", tmp_path / "nowhere")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@slow
def test_published_scores_give_the_published_profile(shared, tmp_path):
    pytest.importorskip("matplotlib")
    assert run_here("zebra.py", "-o", tmp_path, "--data", shared).returncode == 0
    first = cells((tmp_path / "zebra-results.md").read_text())[2]
    assert first[1:] == ["original", "original", "0.584", "3.98", "C"]


@slow
@pytest.mark.parametrize("name", ["linkability.py", "search.py", "tandem.py"])
def test_public_scores_are_drawn_as_the_bundled_ones_are(shared, name, tmp_path):
    pytest.importorskip("matplotlib")
    done = run_here(name, "-o", tmp_path, "--data", shared)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in GALLERY.glob(f"{Path(name).stem}-*")}


def test_page_of_figures_names_every_kind():
    from zeroevidence.plot import KINDS

    page = (ROOT / "docs" / "figures.md").read_text()
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == set(KINDS)
