"""The paragraph for an impact assessment, checked against the result file, and on either side of its conditions."""

import json
from dataclasses import replace

from tests.report.verdict.made import check_sides, search_row
from zeroevidence.evaluation.results import to_json
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.summary import short_sentence


def paragraph(*rows):
    return verdict(rows).assessment.replace("\u00a0", " ")


def spending(row, **effort):
    return replace(row, about=replace(row.about, spent=TrainingEffort(11, **effort)))


def test_every_number_is_that_of_the_result_file(audit_rows):
    rows = {
        row["labels"]["system"] + row["about"]["threat"]["name"]: row for row in json.loads(to_json(audit_rows))["rows"]
    }
    best, plain = rows["syslazy-informed"], rows["unprotectedunprotected"]
    text = paragraph(*audit_rows)
    top, counts = best["metrics"]["top1"], best["counts"]
    assert "Recordings (d) were protected with sys, and the protection was tested by attacking it." in text
    assert f"which of {counts['identities']} known people speaks in each of {counts['trials']} protected" in text
    assert f"{100 * top['value']:.3g} %" in text
    assert f"guessing does so for {100 / counts['identities']:.3g} %" in text
    assert f"without protection it is {100 * plain['metrics']['top1']['value']:.3g} %" in text
    assert "one who does not know that the voices are protected; one who knows the protection and applies it" in text
    assert "They used the scoring method cosine." in text
    assert text.endswith("Another attacker, other people or other recordings may give another result.")


def test_the_short_sentence_is_that_of_the_result_file(audit_rows):
    found = verdict(audit_rows).finding
    document = json.loads(to_json(audit_rows))["rows"]
    best, plain = document[found.strongest], document[found.control]
    assert short_sentence(found).replace("\u00a0", " ") == (
        f"The right one of 20 people is named in {100 * best['metrics']['top1']['value']:.3g} % of recordings; "
        f"guessing 5 %, unprotected {100 * plain['metrics']['top1']['value']:.3g} %."
    )


def test_the_short_sentence_of_single_comparisons(pairs):
    rows = [pairs(1.5, system="s")]
    text = short_sentence(verdict(rows).finding).replace("\u00a0", " ")
    share = 100 * rows[0].number("d_ece") / 0.7213475
    assert text == (f"The doubt whether two recordings are of one person shrinks by {share:.3g} %; guessing 0 %.")


def test_what_was_not_tested_is_said(against):
    alone = search_row(about=against.lazy)
    assert "Not tested: somebody who does not know that the voices are protected; somebody who knows the" in paragraph(
        alone
    )
    trained = "an attacker who trains a speaker encoder on protected speech"
    assert trained in paragraph(spending(alone))
    assert trained not in paragraph(spending(alone, encoder_trained_on="anonymised"))
    everybody = [search_row(about=about) for about in (against.ignorant, against.lazy, against.informed)]
    assert "somebody who" not in paragraph(*everybody).split("Not tested: ")[1].split(".")[0]
    rooms = "what rooms and microphones give away"
    assert rooms in paragraph(alone)
    assert rooms not in paragraph(alone, search_row(about=replace(against.lazy, role="room")))


def test_bounds_and_unnamed_systems(against):
    bound = [search_row(1.0, 4.0, about=against.control, system="unprotected", dataset="d")]
    protected, unnamed = [search_row(about=against.lazy)], [search_row(dataset="d")]
    check_sides(paragraph, "Recordings (d) were tested without protection.", [bound], [protected, unnamed])
    check_sides(paragraph, "were protected with s", [protected], [bound, unnamed])
    check_sides(paragraph, "The attacker ", [protected], [bound, unnamed])
