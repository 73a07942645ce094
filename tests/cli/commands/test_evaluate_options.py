"""Options of `Options` on the command line: the confidence level."""

import json

import numpy as np
import pytest


@pytest.fixture
def scores(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "list.scores"
    path.write_text(
        "\n".join(
            f"s{i} s{j}-u{k} {rng.normal() + 1.5 * (i == j):.4f} {'target' if i == j else 'nontarget'}"
            for i in range(14)
            for j in range(14)
            for k in range(2)
        )
    )
    return path


def test_a_lower_level_is_said_and_gives_narrower_intervals(run, scores):
    rows = {}
    for level in ("0.95", "0.9"):
        code, out, _ = run("evaluate", scores, "--level", level, "--null", 0, "-f", "json")
        assert code == 0
        (rows[level],) = json.loads(out)["rows"]
    assert rows["0.9"]["setup"]["level"] == rows["0.9"]["metrics"]["eer"]["level"] == 0.9
    assert "level" not in rows["0.95"]["setup"]  # the default is not written
    assert ["|level:0.9|" in row["signature"] for row in rows.values()] == [False, True]
    assert rows["0.9"]["metrics"]["eer"]["value"] == rows["0.95"]["metrics"]["eer"]["value"]
    for name in ("eer", "d_ece", "cllr_min"):
        wide, narrow = (row["metrics"][name]["high"] - row["metrics"][name]["low"] for row in rows.values())
        assert 0 < narrow < wide


def test_row_scaling_is_asked_for_by_name(run, scores):
    rows = {}
    for scaling in ("standardise", "none", "auto"):
        code, out, _ = run("evaluate", scores, "--row-scaling", scaling, "--null", 0, "--intervals", 0, "-f", "json")
        assert code == 0
        (rows[scaling],) = json.loads(out)["rows"]
    assert rows["none"]["setup"]["search"]["row_scaling"] == "none"
    assert rows["auto"]["setup"]["search"]["row_scaling"].startswith("auto:")
    assert rows["none"]["metrics"]["alid"]["value"] != rows["standardise"]["metrics"]["alid"]["value"]
    assert rows["none"]["metrics"]["top1"]["value"] == rows["standardise"]["metrics"]["top1"]["value"]
