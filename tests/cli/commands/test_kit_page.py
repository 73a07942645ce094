"""The command that shows all systems of a folder on one page."""

from pathlib import Path

import pytest

from tests.effort import slow
from tests.evaluation.reading.test_submissions import RANKING, write_scores
from zeroevidence.evaluation import read_results

pytest.importorskip("jinja2")
TABLE = Path(__file__).resolve().parents[3] / "examples" / "voiceprivacy2020.tsv"
FEW = ("--intervals", "5", "--null", "10")


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "in"
    (home / "trials").parent.mkdir()
    (home / "trials").write_text(write_scores(home / "x.scores", 2.0))
    (home / "result_for_rank_y").write_text(RANKING.format(eer=33.0))
    (home / "README").write_text("about\n")
    return home


def test_a_page_and_the_results_beside_it(run, tmp_path, folder):
    code, out, err = run("kit", "page", folder, "-o", tmp_path / "page.html", "--title", "All", *FEW)
    assert (code, out) == (0, "")
    assert f"{folder}: 1 file was not read; the page lists them" in err
    page = (tmp_path / "page.html").read_text()
    assert "<h1>All</h1>" in page
    assert "33.00" in page
    assert "as published|result_for_rank_y:2" in page
    (kept,) = (tmp_path / "page.results").iterdir()
    (row,) = read_results(kept)
    assert row.signature in page
    assert run("kit", "page", folder, "-o", tmp_path / "page.html", *FEW)[0] == 2
    code, _, _ = run("kit", "page", folder, "-o", tmp_path / "page.html", "--overwrite", "--title", "All", *FEW)
    again = (tmp_path / "page.html").read_text()
    assert (code, again.replace(" --overwrite", "")) == (0, page)


def test_what_it_refuses(run, tmp_path, folder):
    page = tmp_path / "page.html"
    assert run("kit", "page", tmp_path / "absent", "-o", page)[0] == 3
    code, _, err = run("kit", "page", folder, "-o", folder / "page.html")
    assert code == 2
    assert "lies in" in err or "read" in err
    assert run("kit", "page", folder, "-o", page, "--results", folder / "kept")[0] == 2
    (folder / "x.scores").write_text("s0 su0 high\n")
    code, _, err = run("kit", "page", folder, "-o", page, *FEW)
    assert code == 3
    assert err.startswith(f"{folder / 'x.scores'}:1: score 'high' is not a number")
    assert not page.exists()


def test_the_table_of_voiceprivacy_2020_names_files_that_are_there(shared):
    from zeroevidence.evaluation.reading.submissions import find_submissions

    found = find_submissions(shared / "scores" / "vpc2020", TABLE)
    assert len(found.files) == 18
    assert {file.about.threat.name for file in found.files} == {
        *("unprotected", "ignorant", "lazy-informed", "semi-informed", "other")
    }


@slow
def test_the_page_of_voiceprivacy_2020(run, shared, tmp_path):
    page = tmp_path / "page.html"
    few = ("--intervals", "0", "--null", "0")
    code, _, err = run("kit", "page", shared / "scores" / "vpc2020", "--systems", TABLE, "-o", page, *few)
    assert code == 0, err
    text = page.read_text()
    reference = (shared / "scores" / "vpc2020" / "reference_metrics.tsv").read_text().splitlines()
    columns = reference[0].split("\t")
    values = [dict(zip(columns, line.split("\t"), strict=True)) for line in reference[1:]]
    attacked = [row for row in values if row["enrol_trial"] != "oo"]
    assert len(attacked) == 16
    for row in attacked:
        assert f"{float(row['zebra_population_bit']):.4f}" in text, row
