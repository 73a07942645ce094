"""The benchmark of validity: three cells hold, the table is made, and nothing but NumPy and SciPy is needed."""

import csv
import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.effort import slow

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def validity(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("validity", BENCHMARKS / "validity.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "validity", module)
    spec.loader.exec_module(module)
    return module


@slow
def test_three_cells_hold():
    """In a process in which the libraries of the other parts cannot be imported."""
    program = (
        "import runpy, sys\n"
        "sys.modules.update(dict.fromkeys(('click', 'polars', 'rich', 'torch', 'matplotlib', 'sklearn')))\n"
        f"sys.path.insert(0, {str(BENCHMARKS)!r})\n"
        "sys.argv = ['validity.py', '--quick']\n"
        f"runpy.run_path({str(BENCHMARKS / 'validity.py')!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "all three hold"), done.stderr


def test_every_part_is_in_the_table(validity, tmp_path, monkeypatch):
    monkeypatch.setattr(validity, "POOLED", 2)
    cells = [
        validity.Cell("coverage", "heavy", "medium", 10, 2),
        validity.Cell("lists", "zipf", "medium", 10, 2),
        validity.Cell("null", "equal", "matrix", 10, 2),
        validity.Cell("null", "equal", "complete list", 10, 2, 3),
        validity.Cell("compare", "equal", "medium", 10, 2, 2),
        validity.Cell("exposure", "equal", "none", 12, 2, 1),
        validity.Cell("tandem", "equal", "medium", 10, 2, 6),
        validity.Cell("hard", "rare", "chosen on", 12, 2, 4),
        validity.Cell("hard", "sessions", "held out", 12, 2, 4),
    ]
    results = tmp_path / "results.jsonl"
    lines = validity.run(cells, 1, results)
    records = list(csv.DictReader(io.StringIO(validity.table(lines)), delimiter="\t"))
    assert {record["part"] for record in records} == {cell.part for cell in cells}
    found = {(record["part"], record["measure"], record["statistic"]) for record in records}
    assert found >= {
        ("coverage", "eer", "coverage"),
        ("coverage", "eer", "relative_length"),
        ("null", "d_ece", "power"),
        ("compare", "alid", "tables"),
        ("exposure", "", "headline"),
        ("hard", "top1", "length_without"),
        ("hard", "", "nobody"),
    }
    published = (BENCHMARKS.parent / "docs" / "validity-results.tsv").read_text().splitlines()
    assert published[0].split("\t") == list(records[0])
    assert [json.loads(line)["name"] for line in results.read_text().splitlines()] == [cell.name for cell in cells]
    assert validity.run(cells, 1, results) == lines


def test_exposed_people_are_counted_and_others_are_not(validity):
    lines = validity.run([validity.Cell("exposure", "equal", "none", 12, 6, exposed) for exposed in (0, 1)], 1, None)
    nobody, somebody = (line["found"] for line in lines)
    assert (nobody["found"], nobody["headline"]) == (0.0, 0.0)
    assert (somebody["found"], somebody["counted"], somebody["bound"]) == (1.0, 1.0, 1.0)
    assert max(nobody["others"], somebody["others"]) < 0.5


def test_few_people_are_not_given_an_interval(validity):
    (line,) = validity.run([validity.Cell("coverage", "equal", "medium", 8, 2)], 1, None)
    assert {one["coverage"] for one in line["found"].values()} == {None}
    assert "coverage\tequal\tmedium\t8\t0\t2\teer\tcoverage\t\n" in validity.table([line])


def test_half_of_the_hard_designs_are_held_out(validity):
    cells = [cell for cell in validity.all_cells(2) if cell.part == "hard"]
    held_out = {cell.design for cell in cells if cell.leak == "held out"}
    chosen_on = {cell.design for cell in cells} - held_out
    assert len(held_out) >= len(chosen_on) >= 4
    assert held_out == {name for name, design in validity.HARD.items() if design.held_out} - (
        set() if validity.REAL.exists() else {"real"}
    )


@pytest.mark.parametrize("design", ["rare", "rare vectors"])
def test_a_twentieth_is_exposed(validity, design):
    """People whose every recording is named first, of 400; nobody else is by chance."""
    exposed = 0
    for seed in range(20):
        data = validity.hard_matrix(design, 20, 6, seed)
        best = data.scores.argmax(axis=1) == data.mated
        exposed += int((np.bincount(data.mated, best) == 6).sum())
    assert 8 <= exposed <= 34
