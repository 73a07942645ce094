"""The first screen of a page says what the result file says."""

import html
import json
import re

import pytest

import zeroevidence as ze
from zeroevidence.evaluation.results import to_json
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.page import to_html

pytest.importorskip("jinja2")


def rows_of(document, role):
    """The rows of a result file with this role, which is left out where it is that of an attack."""
    return [row for row in document if row["about"].get("role", "attack") == role]


def verdict_text(page):
    section = re.search(r'<section id="verdict".*?</section>', page, re.DOTALL)[0]
    return " ".join(html.unescape(re.sub(r"<.*?>", " ", section)).replace("\u00a0", " ").split())


@pytest.mark.parametrize(("shift", "level"), [(2.5, "recognised"), (1.6, "leaks"), (0.0, "not-found")])
def test_numbers_are_those_of_the_result_file(shift, level, search, against, audit_rows, without_figures):
    rows = [audit_rows[0], search(shift, seed=6, system="sys", about=against.lazy, dataset="d", backend="cosine")]
    document = json.loads(to_json(rows))["rows"]
    (best,), (plain,) = rows_of(document, "attack"), rows_of(document, "control")
    top, named, text = (
        best["metrics"]["top1"],
        best["metrics"]["people_named"],
        verdict_text(to_html(ReportInputs(rows))),
    )
    ends = ("low", "high", "bound") if level == "not-found" else ("low", "high")
    for share in (top["value"], *(top[end] for end in ends), plain["metrics"]["top1"]["value"], named["null"]["mean"]):
        assert f"{100 * share:.3g} %" in text
    identities, trials = best["counts"]["identities"], best["counts"]["trials"]
    assert f"which of {identities} known people speaks in each of {trials} protected recordings" in text
    assert f"{sum(best['people']['named']) or 'None'} of {identities} people" in text
    assert ("zeroevidence audit" in text) == (level == "not-found")
    guess = 1.0 / identities
    assert ("are still recognised" in text) == (top["value"] >= guess + (1.0 - guess) / 2.0) == (level == "recognised")
    at_chance = "attacker-at-chance" in [flag["code"] for flag in best["flags"]]
    assert ("not told apart from guessing" in text) == at_chance == (level == "not-found")


def test_the_picture_has_the_numbers_of_the_result_file(audit_rows):
    pytest.importorskip("matplotlib")
    ax = ze.plot.attackers(audit_rows)
    document = json.loads(to_json(audit_rows))["rows"]
    attempts, (plain,) = rows_of(document, "attack"), rows_of(document, "control")
    shown = [text.get_text() for text in ax.texts]
    assert sorted(shown) == sorted(f"{100 * row['metrics']['top1']['value']:.3g} %" for row in attempts)
    lines = {line.get_label(): line.get_xdata()[0] for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert lines["guessing"] == pytest.approx(100.0 / attempts[0]["counts"]["identities"])
    assert lines["without protection"] == pytest.approx(100.0 * plain["metrics"]["top1"]["value"])
