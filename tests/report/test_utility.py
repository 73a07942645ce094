"""What speech is still good for: names, units, the original beside the protected speech, and whether it says much."""

import re

import pytest

import zeroevidence as ze
from zeroevidence.evaluation import About, Flag, MeasureResult
from zeroevidence.report import render
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.page import to_html
from zeroevidence.report.utility import utility_lines, utility_notes


def useful(name, value, speech="anonymised", *, flags=(), **labels):
    unit = "fraction" if name == "pitch_correlation" else "rate"
    about = About(role="utility", speech=speech)
    metrics = {name: MeasureResult(value, unit, low=value - 0.01, high=value + 0.01)}
    return ze.Evaluation(metrics, {"utterances": 24}, labels=labels, about=about, flags=flags)


def words(error, **settings):
    return useful("wer", error, recogniser="hearer", system="mine", **settings)


def original(error):
    return useful("wer", error, "original", recogniser="hearer", system="unprotected")


ROWS = [
    original(0.0208),
    words(0.4444),
    useful("length_difference", 0.032, system="mine"),
    useful("pitch_correlation", 0.257, system="mine"),
]


def test_text_has_names_units_and_the_original_beside_the_protected(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = render(ROWS, "text")
    assert "What the speech is still good for; system: mine" in text
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    assert re.search(r"24 +2\.08 \[1\.08, 3\.08\] +44\.44 \[43\.44, 45\.44\]$", lines["WER [%]"])
    assert re.search(r"24 +3\.20 \[2\.20, 4\.20\]$", lines["length difference [%]"])
    assert re.search(r"24 +0\.2570 \[0\.2470, 0\.2670\]$", lines["pitch correlation"])
    assert re.search(r"recordings +original +protected", text)


@pytest.mark.parametrize("format", ["md", "latex"])
def test_tables_of_papers_have_the_same_lines(format):
    text = render(ROWS, format)
    for shown in ("length difference", "3.2", "44.4", "2.1" if format == "latex" else "2.08", "pitch correlation"):
        assert shown in text


def test_the_page_has_utility_beside_attackers(audit_rows, without_figures):
    page = to_html(ReportInputs([*audit_rows, *ROWS]))
    section = re.search(r'<section id="utility".*?</section>', page, re.DOTALL)[0]
    for shown in ("WER [%] <small>", "length difference [%] <small>", "pitch correlation <small>", "2.08", "44.44"):
        assert shown in section
    table = re.search(r'<table id="all-rows".*?</table>', page, re.DOTALL)[0]
    assert table.count("<tr") == 1 + len(audit_rows)  # utility has a table of its own
    assert 'id="utility"' not in to_html(ReportInputs(audit_rows))


def test_rows_of_different_data_are_not_paired():
    lines = utility_lines([useful("wer", 0.1, "original", dataset="a"), useful("wer", 0.3, dataset="b")])
    assert [(line.original, line.protected) for line in lines] == [(None, 1), (0, None)]
    lines = utility_lines([useful("wer", 0.1, "original", dataset="a"), useful("wer", 0.3, dataset="a")])
    assert [(line.original, line.protected) for line in lines] == [(0, 1)]


@pytest.mark.parametrize(("error", "said"), [(0.899, False), (0.998, True)])
def test_a_recogniser_that_understands_nothing_is_called_useless(error, said):
    notes = " ".join(utility_notes([original(error), words(0.999)]))
    assert ("The recogniser hearer is useless here: it errs in 99.8 % of the words of the original" in notes) == said
    text = " ".join(render([original(error), words(0.999)], "text").split())
    assert ("useless" in text) == said


def test_without_the_original_nothing_follows_from_word_errors():
    assert "is not known" in " ".join(utility_notes([words(0.3)]))
    assert not utility_notes([original(0.05), words(0.3)])
    assert not utility_notes(ROWS[2:])
    # words that the original was heard to say are compared with it
    assert not utility_notes([words(0.3, flags=(Flag("reference-heard", "note", "heard."),))])


def test_a_named_measure_is_the_only_one():
    text = render(ROWS, "text", measures=["pitch_correlation"])
    assert "pitch correlation" in text
    assert "WER" not in text
