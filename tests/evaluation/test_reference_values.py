"""What `evaluate` shows is what the papers and other tools print, with intervals as well as without.

Those of searches are in tests/evaluation/test_searches.py.
"""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import repetitions
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.scores import TandemScores
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.tandem import evaluate_tandem

# With few groups of people, intervals are quick and wide; values must not depend on them.
OPTIONS = [Options(intervals=0, null=0), Options(intervals=8, null=0)]
ON_AND_OFF = pytest.mark.parametrize("options", OPTIONS, ids=["off", "on"])
EXACT = {
    "cllr": "cllr",
    "cllr_min": "min_cllr",
    "d_ece": "d_ece",
    "eer_rocch": "rocch_eer",
    "worst_case": "worst_case_log10_l",
}


@ON_AND_OFF
def test_exact_values_of_score_sets(vectors, options):
    for name, (target, nontarget, values) in vectors.items():
        row = ze.evaluate(target, nontarget, options=options)
        for measure, key in EXACT.items():
            assert row[measure].value == pytest.approx(values["exact"][key], abs=1e-9), (name, measure)


def reference_rows(home):
    with (home / "reference_metrics.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_row_of_voiceprivacy_2020(shared):
    home = shared / "scores" / "vpc2020"
    rows = reference_rows(home)
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


@ON_AND_OFF
def test_voxsrc_2021(shared, options):
    home = shared / "scores" / "voxsrc2021_dev"
    row = ze.evaluate(read_scores(home / "scores.txt", home / "trials.txt"), options=replace(options, dcf_prior=0.05))
    assert 100 * row["eer"].value == pytest.approx(5.177, abs=5e-4)
    assert round(row["dcf_min"].value, 4) == 0.2928  # tied scores pooled


@ON_AND_OFF
@pytest.mark.parametrize("name", ["tandem_small", "tandem_ties"])
def test_tandems(shared, options, name):
    home = shared / "reference"
    values = json.loads((home / "vectors.json").read_text())["tandem"][name]
    arrays = np.load(home / "vectors.npz")
    asv, cm = ({part: arrays[f"{name}_{system}_{part}"] for part in ("tar", "non", "spf")} for system in ("asv", "cm"))
    scores = TandemScores.of(
        cm_bonafide=np.concatenate([cm["tar"], cm["non"]]),
        cm_spoof=cm["spf"],
        asv_target=asv["tar"],
        asv_nontarget=asv["non"],
        asv_spoof=asv["spf"],
    )
    (row,) = evaluate_tandem(scores, model="2021", intervals=options.intervals)
    assert row["tdcf_min"].value == pytest.approx(values["asvspoof2021"]["min_tdcf"], abs=1e-9)
    assert row["cm_dcf_min"].value == pytest.approx(values["asvspoof5"]["min_dcf"], abs=1e-9)
