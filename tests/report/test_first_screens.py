"""The first screen of a page says what the result file says, number by number."""

import html
import json
import re
from dataclasses import astuple
from math import log2

import pytest

import zeroevidence as ze
from tests.effort import spread
from tests.report.conftest import THREATS, named_search
from zeroevidence.evaluation import findings
from zeroevidence.evaluation.finding.beside import flag_rows
from zeroevidence.evaluation.results import to_json
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.layout import number
from zeroevidence.report.numbers import headline_number, report_measures, tiles
from zeroevidence.report.page import to_html
from zeroevidence.report.verdict import verdict

pytest.importorskip("jinja2")
OPTIONS = ze.Options(intervals=10, null=39, linkability="pav")
# how far voices stand out to the ignorant and to the lazy attacker, people, how many recordings the first person has
AUDITS = [*((leak, people, 4) for leak in (0.0, 0.5, 1.0, 2.0, 4.0) for people in (6, 12)), (0.0, 8, 16), (2.0, 8, 16)]
# numbers that are no results: the level, what counts as named, attempts, and people that are wanted at least
FIXED = {"95", "80", "2", "10"}


def attacked(leak, people, most, seed, about, **labels):
    """A search in which the first person has `most` recordings, and everybody else four."""
    labels |= {"dataset": "d", "backend": "cosine"}
    how = {"labels": labels, "about": about, "options": OPTIONS}
    return named_search(leak, [most, *[4] * (people - 1)], seed=seed, people=people, **how)


@pytest.fixture(scope="module", params=spread(list(range(len(AUDITS))), 5))
def audit(request):
    """The rows of a generated audit, as an audit flags them, and its result file."""
    leak, people, most = AUDITS[request.param]
    shifts = {"control": 6.0, "floor": 0.0, "ignorant": 0.3 * leak, "lazy": leak}
    systems = {"control": "unprotected", "floor": "random"}
    rows = [
        attacked(shift, people, most, 10 * request.param + place, THREATS[kind], system=systems.get(kind, "sys"))
        for place, (kind, shift) in enumerate(shifts.items())
    ]
    rows = flag_rows(rows)
    return rows, json.loads(to_json(rows))["rows"]


def shares(result, most=1.0):
    """What a result file has of a measure, as sentences write it: percent of the most there is to learn."""
    ends = (result.get(name) for name in ("value", "low", "high", "bound"))
    return {f"{100 * end / most:.3g}" for end in ends if isinstance(end, float)}


def guessing(counts):
    return max(1.0 / counts["identities"], counts["most_trials"] / counts["trials"])


def numbers_of(best, plain):
    """The numbers of a row of a result file that the first screen may show, and of its control."""
    metrics, counts, named = best["metrics"], best["counts"], best["people"]["named"]
    return {
        *(str(counts[name]) for name in ("identities", "trials", "speakers")),
        *map(str, best["people"]["trials"]),
        *shares(metrics["top1"]),
        *shares(metrics["d_ece"], D_ECE_MAX),
        *shares(metrics["alid"], log2(counts["identities"])),
        *shares(metrics["people_named"]),
        f"{100 * metrics['people_named']['null']['mean']:.3g}",
        *(str(sum(named)), str(len(named)), str(round(metrics["top1"]["value"] * counts["trials"]))),
        f"{100 * guessing(counts):.3g}",
        f"{100 * plain['metrics']['top1']['value']:.3g}",
        *(f"{metrics[name]['p_adjusted']:.2g}" for name in ("top1", "d_ece", "alid", "people_named")),
        str(best["setup"]["null"]["times"]),
    }


def test_every_number_of_the_summary_is_one_of_the_result_file(audit):
    rows, document = audit
    result = verdict(rows)
    best, plain = document[result.finding.strongest], document[result.finding.control]
    assert (best["labels"]["system"], plain["about"]["role"]) == ("sys", "control")
    texts = [text.replace("\u00a0", " ") for text in (result.headline, *result.summary)]
    wanted = {str(result.finding.more_people), str(30 - best["counts"]["speakers"])}
    printed = {number for text in texts for number in re.findall(r"-?\d+(?:\.\d+)?", text)}
    assert printed <= numbers_of(best, plain) | wanted | FIXED


def test_what_the_verdict_rests_on_is_more_than_chance_by_its_own_test(audit):
    rows, document = audit
    result = verdict(rows)
    finding, text = result.finding, " ".join(result.summary).replace("\u00a0", " ")
    metrics, counts = document[finding.strongest]["metrics"], document[finding.strongest]["counts"]
    quoted = metrics[finding.quoted]
    leaks = quoted["p_adjusted"] <= 0.05 and (finding.quoted != "top1" or quoted["value"] > guessing(counts))
    assert (finding.level in ("leaks", "recognised")) == leaks
    assert (f"(p = {quoted['p_adjusted']:.2g}, 39 permutations)" in text) == leaks
    if leaks and "low" in quoted:  # fewer than ten people have no interval
        most = {"top1": 1.0, "d_ece": D_ECE_MAX, "alid": log2(counts["identities"])}[finding.quoted]
        value, low, high = (f"{100 * quoted[name] / most:.3g} %" for name in ("value", "low", "high"))
        assert f"{value} (95 % interval {low} to {high}) of" in text
    if finding.quoted == "top1":
        assert f"guessing does so for {100 * guessing(counts):.3g} %" in text


def test_every_tile_is_of_the_strongest_row(audit):
    rows, document = audit
    finding = findings(rows)[0]
    places = {"value": finding.strongest, "plain": finding.control, "noise": finding.floor}
    for name in report_measures(rows):
        tile = headline_number(name, finding)
        for part, place in places.items():
            result = document[place]["metrics"][name]
            assert tile[part] == number(result["value"], result["unit"])
        result = document[finding.strongest]["metrics"][name]
        ends = [number(result[end], result["unit"]) for end in ("low", "high") if end in result]
        assert tile["bounds"] == (f"[{', '.join(ends)}]" if len(ends) == 2 else "")
    shown = [headline_number(name, finding) for name in ("top1", "people_named", "eer")]
    parts = ("value", "unit", "bounds", "plain")
    assert [astuple(tile)[1:] for tile in tiles(finding)] == [tuple(tile[part] for part in parts) for tile in shown]


def verdict_text(page):
    section = re.search(r'<section id="verdict".*?</section>', page, re.DOTALL)[0]
    return " ".join(html.unescape(re.sub(r"<.*?>", " ", section)).replace("\u00a0", " ").split())


def test_the_page_begins_with_the_verdict_and_the_flags_of_its_row(audit_rows, without_figures):
    strongest = findings(audit_rows)[0].strongest
    rows = [row.with_flags(flag("not-enrolled", trials=90 + place)) for place, row in enumerate(audit_rows)]
    page = to_html(ReportInputs(rows))
    result = verdict(rows)
    assert verdict_text(page).count("unprotected 100.00 %") == 2
    for text in (result.headline, *result.summary):
        assert " ".join(text.replace("\u00a0", " ").split()) in verdict_text(page)
    printed = re.search(r'<section class="on-paper".*?</section>', page, re.DOTALL)[0]
    assert [place for place in range(len(rows)) if f"{90 + place} trials are of people" in printed] == [strongest]


def test_the_picture_has_the_numbers_of_the_result_file(audit):
    pytest.importorskip("matplotlib")
    rows, document = audit
    ax = ze.plot.attackers(rows)
    attempts, (plain,) = (
        [row for row in document if row["about"].get("role", "attack") == role] for role in ("attack", "control")
    )
    shown = [text.get_text() for text in ax.texts]
    assert sorted(shown) == sorted(f"{100 * row['metrics']['top1']['value']:.3g} %" for row in attempts)
    lines = {line.get_label(): line.get_xdata()[0] for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert lines["guessing"] == pytest.approx(100.0 * guessing(attempts[0]["counts"]))
    assert lines["without protection"] == pytest.approx(100.0 * plain["metrics"]["top1"]["value"])
