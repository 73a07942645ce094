"""The benchmark of validity: three cells hold, every part and every printed interval is in its table."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.conftest import BENCHMARKS
from tests.effort import repetitions, slow
from zeroevidence.measure.measures import MEASURES

PUBLISHED = Path(__file__).parents[2] / "docs" / "validity-results.tsv"


@slow
def test_three_cells_hold():
    """In a process in which the libraries of the other parts cannot be imported."""
    path = str(BENCHMARKS / "validity.py")
    blocked = dict.fromkeys(("click", "polars", "rich", "matplotlib", "sklearn"))
    program = f"import runpy, sys; sys.modules.update({blocked}); runpy.run_path({path!r}, run_name='__main__')"
    command = [sys.executable, "-c", program, "--quick"]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "all three hold"), done.stderr


def test_every_part_is_in_the_table(load_benchmark, tmp_path, monkeypatch):
    validity = load_benchmark("validity")
    monkeypatch.setattr(validity.validity_parts, "POOLED", 2)
    monkeypatch.setattr(validity.validity_parts, "LONG", 6)
    cells = {(cell.part, cell.design in validity.VOICES): cell for cell in validity.chosen_cells(2)[::-1]}
    cells |= {(cell.part, True): cell for cell in validity.held_out_cells(2)[::-1]}
    small = [validity.Cell(one.part, one.design, 12, min(one.recordings, 4), 2, one.more) for one in cells.values()]
    named = {"intervals": "relative_length", "p_values": "any adjusted", "list_tests": "possible"}
    small = [cell for at, cell in enumerate(small) if cell.part in named or at % repetitions(3, 1) == 0]
    results = tmp_path / "results.jsonl"
    lines = validity.run(small, 1, results)
    records = list(csv.DictReader(io.StringIO(validity.table(lines)), delimiter="\t"))
    assert {record["part"] for record in records} == {cell.part for cell in small}
    for part, statistic in named.items():
        assert any(record["part"] == part and record["statistic"] == statistic for record in records)
    assert PUBLISHED.read_text().splitlines()[0].split("\t") == list(records[0])
    assert [json.loads(line)["name"] for line in results.read_text().splitlines()] == [cell.name for cell in small]
    assert validity.run(small, 1, results) == lines


def test_every_measure_with_an_interval_is_judged():
    with PUBLISHED.open(encoding="utf-8") as file:
        judged = {line["measure"] for line in csv.DictReader(file, delimiter="\t") if line["statistic"] == "coverage"}
    alike = {"eer_closed_set", "tdcf_act"}  # the EER of fewer comparisons, the t-DCF at a given threshold
    assert {name for name, measure in MEASURES.items() if measure.interval is not None} - alike <= judged


@pytest.mark.parametrize(("design", "share"), [("half", 0.5), ("one in forty", 0.025), ("nothing", 0.0)])
def test_so_many_are_recognised_nearly_always(load_benchmark, design, share):
    designs = load_benchmark("held_out_designs")
    rates = []
    for seed in range(20):
        data = designs.voices_matrix(design, 30, 20, seed)
        rates.append(np.bincount(data.mated, data.scores.argmax(axis=1) == data.mated) / 20)
    assert np.mean(np.concatenate(rates) >= 0.8) == pytest.approx(share, abs=0.05)
