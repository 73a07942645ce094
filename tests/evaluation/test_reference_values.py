"""What `evaluate` shows is what the papers and other tools print, with intervals as well as without.

Those of searches are in tests/evaluation/test_searches.py, and those of single functions in tests/measure.
"""

import csv
from dataclasses import replace

import pytest

import zeroevidence as ze
from tests.effort import repetitions
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.evaluation import Options

# With few groups of people, intervals are quick and wide; values must not depend on them.
OPTIONS = [Options(intervals=0, null=0), Options(intervals=8, null=0)]


def test_every_row_of_voiceprivacy_2020(shared):
    home = shared / "scores" / "vpc2020"
    with (home / "reference_metrics.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 24
    first_of_condition = {row["condition"]: number for number, row in reversed(list(enumerate(rows)))}
    for number, row in list(enumerate(rows))[:: repetitions(3, 1)]:
        path = home / row["condition"] / f"{row['enrol_trial']}_{row['sex']}.scores"
        loaded = read_scores(path, home / f"trials_{row['sex']}")
        expected = {
            "eer": (float(row["our_EER_pct"]) / 100, 5.01e-6),
            "eer_rocch": (float(row["ref_ROCCH_EER_pct"]) / 100, 5.01e-6),
            "cllr": (float(row["ref_Cllr_act"]), 5.01e-4),
            "cllr_min": (float(row["ref_Cllr_min"]), 5.01e-4),
            "linkability": (float(row["ref_linkability_Dsys"]), 1e-6),
            "d_ece": (float(row["zebra_population_bit"]), 1e-5),
            "worst_case": (float(row["zebra_individual_log10"]), 1e-5),
        }
        with_intervals = first_of_condition[row["condition"]] == number
        for options in OPTIONS[: 1 + with_intervals]:
            result = ze.evaluate(loaded, options=replace(options, linkability="histogram"))
            assert (result["d_ece"].low is None) == (options.intervals == 0)
            for name, (value, tolerance) in expected.items():
                assert result[name].value == pytest.approx(value, abs=tolerance), (path.parts[-2:], name)
            assert result["tag"].value == row["zebra_category"]
            assert result["eer_rocch"].value <= result["eer"].value
