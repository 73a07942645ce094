"""The benchmark of validity: three cells hold, the table is made, and nothing but NumPy and SciPy is needed."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.conftest import BENCHMARKS
from tests.effort import slow


@slow
def test_three_cells_hold():
    """In a process in which the libraries of the other parts cannot be imported."""
    path = str(BENCHMARKS / "validity.py")
    blocked = dict.fromkeys(("click", "polars", "rich", "torch", "matplotlib", "sklearn"))
    program = f"import runpy, sys; sys.modules.update({blocked}); runpy.run_path({path!r}, run_name='__main__')"
    command = [sys.executable, "-c", program, "--quick"]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "all three hold"), done.stderr


def test_every_part_is_in_the_table(load_benchmark, tmp_path, monkeypatch):
    validity = load_benchmark("validity")
    monkeypatch.setattr(validity, "POOLED", 2)
    cells = [
        validity.Cell("coverage", "heavy", "medium", 10, 2),
        validity.Cell("lists", "zipf", "medium", 10, 2),
        validity.Cell("null", "equal", "matrix", 10, 2),
        validity.Cell("compare", "equal", "medium", 10, 2, 2),
        validity.Cell("exposure", "equal", "none", 12, 2, 1),
        validity.Cell("tandem", "equal", "medium", 10, 2, 6),
        validity.Cell("hard", "rare", "chosen on", 12, 2, 4),
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
    published = (Path(__file__).parents[2] / "docs" / "validity-results.tsv").read_text().splitlines()
    assert published[0].split("\t") == list(records[0])
    assert [json.loads(line)["name"] for line in results.read_text().splitlines()] == [cell.name for cell in cells]
    assert validity.run(cells, 1, results) == lines


@pytest.mark.parametrize("design", ["rare", "rare vectors"])
def test_a_twentieth_is_exposed(load_benchmark, design):
    """People whose every recording is named first, of 400; nobody else is by chance."""
    exposed = 0
    for seed in range(20):
        data = load_benchmark("validity").hard_matrix(design, 20, 6, seed)
        best = data.scores.argmax(axis=1) == data.mated
        exposed += int((np.bincount(data.mated, best) == 6).sum())
    assert 8 <= exposed <= 34
