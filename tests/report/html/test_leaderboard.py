"""The page of several systems as text: every line true, escaped, closed to the outside."""

import re

import numpy as np
import pytest

import zeroevidence as ze
from tests.report.html.test_page import Page
from zeroevidence.data.threat import threat_from_sides
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, MeasureResult, Setup, flag_rows
from zeroevidence.evaluation.rows.about import About
from zeroevidence.report.html.leaderboard import leaderboard_page

pytest.importorskip("jinja2")
EVIL = "<script>alert(1)</script>"


def search(shift, system, sides=("anonymised", "anonymised")):
    people = 8
    mated = np.repeat(np.arange(people), 3)
    scores = np.random.default_rng(0).normal(size=(len(mated), people)) + shift * np.eye(people)[mated]
    names = np.array([f"p{i}" for i in range(people)])
    matrix = ze.ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)
    about = About.against(threat_from_sides(*sides, "original"))
    return ze.evaluate(matrix, labels={"system": system}, about=about, intervals=8, null=19)


def published(system, eer, **more):
    about = About.against(threat_from_sides("anonymised", "anonymised", "anonymised"))
    measured = {"eer": MeasureResult.of("eer", eer), **more}
    return Evaluation(measured, setup=Setup(recorded="as published|x:1"), labels={"system": system}, about=about)


def utility(system, wer):
    about = About(role="utility", speech="anonymised")
    return Evaluation({"wer": MeasureResult.of("wer", wer)}, labels={"system": system}, about=about)


@pytest.fixture(scope="module")
def rows():
    return flag_rows(
        [
            search(4.0, "unprotected", ("original", "original")),
            search(0.3, EVIL, ("original", "anonymised")),
            search(2.0, EVIL),
            search(0.5, "good"),
            published("table", 0.45),
            utility("good", 0.125),
        ]
    )


@pytest.fixture(scope="module")
def text(rows):
    return leaderboard_page(rows, command="zeroevidence kit page in", unread=["README", EVIL])


def board(text):
    """Cells of each line of the first table."""
    table = re.search(r'<table id="board".*?</table>', text, re.DOTALL)[0]
    lines = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    return [[" ".join(re.sub("<.*?>", " ", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", line, re.DOTALL)]
            for line in lines]  # fmt: skip


def test_tags_are_nested_and_nothing_comes_from_outside(text):
    page = Page(text)
    assert (page.faults, page.stack) == ([], [])
    assert EVIL not in text
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert attributes.get(name) is None or attributes[name].startswith("#")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.all("a")} <= set(ids)
    assert len(re.findall("<script>", text)) == 1


def test_one_line_for_each_system_the_least_disclosing_first(text, rows):
    lines = board(text)
    assert [line[0] for line in lines] == ["table", "good", "&lt;script&gt;alert(1)&lt;/script&gt;"]
    assert [line[1] for line in lines] == ["semi-informed", "lazy-informed", "lazy-informed of 2"]
    headings = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", text.partition("<tbody>")[0])
    assert headings[:4] == ["system", "attacker", "on one scale", "chance excluded"]
    eer = headings.index("EER [%]")
    assert [line[eer].split()[0] for line in lines] == [f"{100 * float(rows[i]['eer']):.2f}" for i in (4, 3, 2)]
    assert lines[1][headings.index("WER [%]")] == "12.50"
    assert lines[0][headings.index("WER [%]")] == ""


def test_the_scale_is_named(text, rows):
    assert "The scale is EER" in text
    alone = leaderboard_page(rows[:4])
    assert "The scale is ALID" in alone
    assert next(line[0] for line in board(alone)) == "good"
    bits = Evaluation({"d_ece": MeasureResult.of("d_ece", 0.2)}, labels={"system": "bits"})
    apart = leaderboard_page([published("table", 0.4), bits])
    assert "The systems have no measure in common" in apart
    assert "on one scale" not in apart


def test_chance_is_what_the_test_says(rows):
    lines = {line[0]: line for line in board(leaderboard_page(rows[:4]))}
    strong = lines["&lt;script&gt;alert(1)&lt;/script&gt;"]
    assert re.fullmatch(r"(yes|no|not tested) p = [0-9.e-]+", strong[3])
    assert board(leaderboard_page([published("table", 0.45)]))[0][3] == "not tested"


def test_what_was_not_computed_is_said_and_only_then(text, rows):
    assert "Read from a table without scores: there are no intervals" in text
    assert re.search(r'measure that needs scores\. <span class="rows">row 5</span>', text)
    assert "2 files of the folder were not read" in text
    complete = leaderboard_page(rows[:4])
    assert "Every row has all measures, intervals and nulls." in complete
    assert "Read from a table" not in complete
    assert "not read" not in complete


def test_every_number_and_every_signature_is_there(text, rows):
    table = re.search(r'<table id="every-number".*?</table>', text, re.DOTALL)[0]
    assert table.count("<tr>") - 1 == sum(len(row.metrics) for row in rows)
    signatures = re.findall(r"<li><code>(.*?)</code></li>", text.partition('class="signatures"')[2])
    assert signatures == [row.signature for row in rows]
    assert "<pre><code>zeroevidence kit page in</code></pre>" in text


def test_utility_alone_is_no_page():
    with pytest.raises(UsageError, match="no attacks; expected scores or tables"):
        leaderboard_page([utility("good", 0.1)])
