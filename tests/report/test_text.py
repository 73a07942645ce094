"""Tables on a terminal: nothing wider than it, no word broken, nothing left out without being named."""

import re
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len

from zeroevidence.data.threat import ThreatModel
from zeroevidence.evaluation import About, Evaluation, Flag, MeasureResult, Setup
from zeroevidence.evaluation.results import from_json
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.report import render
from zeroevidence.report.layout import heading, raised_flags
from zeroevidence.uncertainty.null import Null

WIDTHS = (80, 120, 200)
THREATS = (
    ThreatModel("unprotected", "original", "original"),
    ThreatModel("random", "noise", "noise"),
    ThreatModel("ignorant", "original", "anonymised"),
    ThreatModel("lazy-informed", "anonymised", "anonymised"),
    ThreatModel("backend-informed", "anonymised", "anonymised", "anonymised", adapter=True),
)
FAULT = Flag("eer-above-half", "fault", "the scores point the wrong way.")
WARNING = Flag("few-speakers", "warning", "too few speakers for trustworthy intervals.")
NOTE = Flag("replicates-left-out", "note", "some draws had no value.")
SHOWN = [name for name in headline_measures() if MEASURES[name].family in ("one-to-one", "search")]


def measured(name, place):
    unit = MEASURES[name].unit
    if unit == "category":
        return MeasureResult("C", unit)
    value = (0.1 if unit == "rate" else 1.2) + 0.01 * place
    return MeasureResult(value, unit, low=value - 0.05, high=value + 0.05, null=Null(0.01, 0.02), p_value=0.04)


def row(place=0, *, names=SHOWN, labels=None, flags=(), threat=None, counts=None):
    """A result with a place among others: its numbers, labels and signature depend on it."""
    return Evaluation(
        {name: measured(name, place) for name in names},
        counts or {"target": 192, "nontarget": 4416, "speakers": 24},
        setup=Setup(recorded=f"ZE|row:{place}|v:0"),
        labels=labels or {},
        about=About() if threat is None else About.against(threat),
        flags=flags,
    )


def audit_rows(count):
    """Rows as of an audit: attackers with two back-ends on several systems."""
    found = []
    for place in range(count):
        threat = THREATS[place % 5]
        labels = {
            "system": threat.name if threat.is_bound else f"mcadams-random-{place // 10}",
            "dataset": "audiomnist",
            "backend": ("cosine", "plda")[place // 5 % 2],
        }
        flags = (NOTE, *([FAULT] if place % 5 == 1 else []), *([WARNING] if place in (2, 3, 4, 8) else []))
        found.append(row(place, labels=labels, flags=flags, threat=threat))
    return found


@pytest.fixture
def shown(monkeypatch):
    """The text of rows at a width."""

    def show(rows, width, **options):
        monkeypatch.setenv("COLUMNS", str(width))
        return render(rows, "text", **options)

    return show


def tables_of(text):
    """Lines of headings and of the body of each table."""
    lines = text.splitlines()
    found = []
    for rule in (number for number, line in enumerate(lines) if set(line) == {"─"}):
        start = max(number for number in range(rule) if not lines[number])
        end = next(number for number in range(rule, len(lines)) if not lines[number])
        found.append((lines[start + 1 : rule], lines[rule + 1 : end]))
    return found


def table_of(text):
    """Lines of headings and of the body of the one table."""
    (table,) = tables_of(text)
    return table


def lines_of(text):
    """All lines of all tables."""
    return [line for table in tables_of(text) for part in table for line in part]


def joined(lines):
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 5, 10, 14])
def test_no_line_is_wider_than_the_terminal(shown, width, count):
    rows = audit_rows(count)
    lines = shown(rows, width).splitlines()
    own = [line for line in lines if line not in {one.signature for one in rows}]
    assert max(map(cell_len, own)) <= width
    assert width == 200 or max(map(cell_len, own)) > width - 35  # and the room is used, where there is not enough
    words = {word for one in rows for name in ("system", "backend") for word in one.labels[name].split()}
    assert words <= set(joined(lines).split())  # none is broken
    assert ("Not shown: " in joined(lines)) == (count > 8)
    assert "Not shown" not in shown(rows, width, measures=SHOWN)


@pytest.mark.parametrize("width", [40, *WIDTHS])
@pytest.mark.parametrize("count", [2, 14])
def test_every_number_of_every_row_is_shown(shown, width, count):
    rows = audit_rows(count)
    text = shown(rows, width, measures=SHOWN)
    for one in rows:
        for name in SHOWN:
            metric = one.metrics[name]
            if metric.unit == "rate":
                assert f"{100 * metric.value:.2f}" in text
                assert f"[{100 * metric.low:.2f}, {100 * metric.high:.2f}]" in text
            elif metric.low is not None:
                assert f"{metric.value:.4f}" in text
                assert f"[{metric.low:.4f}, {metric.high:.4f}]" in text


def test_a_table_that_is_too_wide_is_turned(shown):
    headings, body = table_of(shown(audit_rows(3), 80))
    assert [line.split()[0] for line in headings] == ["#", "system", "attacker"]
    assert headings[-1].split()[1:] == ["unprotected", "random", "ignorant"]
    eer = next(line for line in body if line.startswith("EER"))
    assert eer.split()[-3:] == ["10.00", "11.00", "12.00"]


def test_a_label_that_follows_from_another_is_told_once(shown):
    long = "mcadams:0.5..0.9:utterance+pitch:-4..4:utterance+formant:0.8..1.25:utterance"
    rows = [
        replace(one, labels={**one.labels, "system": long if place % 5 > 1 else "none"})
        for place, one in enumerate(audit_rows(10))
    ]
    text = shown(rows, 80)
    assert text.count(long) == 1
    told = (
        f"system, by attacker: none (unprotected, random), {long} (ignorant, lazy-informed, backend-informed with "
        "adapter)"
    )
    assert told in joined(text.splitlines())
    headings, _ = tables_of(text)[0]
    assert [line.split()[0] for line in headings if line[0] != " "] == ["#", "attacker", "backend"]


@pytest.mark.parametrize("width", WIDTHS)
def test_warnings_come_once_with_their_rows_the_gravest_first(shown, width):
    rows = audit_rows(10)
    text = joined(shown(rows, width, verbose=True).splitlines())
    fault, warning, note = (
        text.index(words)
        for words in (
            "fault eer-above-half (rows 2, 7): the scores",
            "warning few-speakers (rows 3-5, 9): too few",
            "note replicates-left-out (all rows): some draws",
        )
    )
    assert fault < warning < note
    assert text.count("eer-above-half") == text.count("few-speakers") == text.count("replicates-left-out") == 1
    short = joined(shown(rows, width).splitlines())
    codes = "few-speakers (rows 3-5, 9), replicates-left-out (all rows)"
    assert f"Flags: {codes}; --verbose says what they mean." in short
    assert "fault eer-above-half (rows 2, 7): the scores" in short


@pytest.mark.parametrize(("severity", "ways", "places"), [("note", 3, 3), ("note", 4, 1), ("fault", 4, 4)])
def test_a_warning_in_many_ways_is_shown_once(severity, ways, places):
    flags = [Flag("turned", severity, f"the weight is {number}") for number in range(ways)]
    raised = raised_flags([row(number, flags=[flag]) for number, flag in enumerate(flags)])
    assert [each.flag for each in raised] == flags[:places]
    assert raised[0].where == ("row 1; with other numbers rows 2-4" if places == 1 else "row 1")


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_numbered_where_warnings_name_them(shown, width):
    rows = audit_rows(10)
    _, body = table_of(shown(rows, width, measures=["eer", "top1"]))
    numbered = [line.split() for line in body if line[:2].strip()]
    assert [(int(words[0]), words[1]) for words in numbered] == [
        (number, one.labels["system"]) for number, one in enumerate(rows, 1)
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_of_all_rows_are_said_once(shown, width):
    text = shown(audit_rows(10), width)
    assert next(line for line in text.splitlines() if not line.startswith(("fault", " "))) == "dataset: audiomnist"
    assert text.count("audiomnist") == 1
    assert joined(text.splitlines()).count("192 target, 4416 nontarget, 24 speakers") == 1


def test_sizes_that_differ_get_a_column(shown):
    rows = [
        row(place, counts={"target": 10 + place, "nontarget": 50}, labels={"system": "ab"[place]}) for place in (0, 1)
    ]
    headings, body = table_of(shown(rows, 80, measures=["eer"]))
    assert headings[-1].split()[:2] == ["system", "n"]
    assert [line.split()[:4] for line in body if line[0] != " "] == [["a", "10", "+", "50"], ["b", "11", "+", "50"]]


@pytest.mark.parametrize("format", ["text", "md", "latex"])
def test_attackers_have_short_names_and_are_told_once(format, shown):
    rows = audit_rows(10)
    text = shown(rows, 200) if format == "text" else render(rows, format)
    for threat in THREATS:
        assert text.count(str(threat)) == 1
    assert "enrolment &" not in text
    assert "| enrolment |" not in text
    assert "with adapter" in text


def test_signatures_only_when_asked_for(shown):
    rows = audit_rows(5)
    text = shown(rows, 80)
    assert not any(one.signature in text for one in rows)
    last = text.splitlines()[-1]
    assert re.fullmatch(r"ZE\|rows:5\|signatures:sha256:[0-9a-f]{16}\|v:\S+ \(all: --signatures\)", last)
    assert last.split()[0] in render(rows, "json")
    assert shown(rows, 80, signatures=True).splitlines()[-5:] == [one.signature for one in rows]
    assert shown(rows[:1], 80).splitlines()[-1] == rows[0].signature


def test_width_where_the_output_is_no_terminal(monkeypatch):
    rows = audit_rows(10)
    for wanted in (None, "", "wide", "0", "-5"):
        monkeypatch.delenv("COLUMNS", raising=False)
        if wanted is not None:
            monkeypatch.setenv("COLUMNS", wanted)
        lines = render(rows, "text").splitlines()
        assert 90 < max(map(cell_len, lines)) <= 100
    assert "\x1b" not in "".join(lines)


def test_a_terminal_gets_colours_within_its_width(shown, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = shown(audit_rows(10), 80)
    assert "\x1b[31mfault" in text
    assert max(cell_len(line) for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()) <= 80
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in shown(audit_rows(10), 80)


@pytest.mark.parametrize("width", [40, *WIDTHS])
def test_long_names_are_broken_at_their_joints_and_never_cut(shown, width):
    names = [f"submissions/2024/anonymiser_with_a_long_name/checkpoint_{place}.scores" for place in range(3)]
    names.append("a name of many words that may stand on several lines")
    rows = [row(place, labels={"system": name}) for place, name in enumerate(names)]
    text = shown(rows, width, measures=["eer", "top1"])
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text
    letters = "".join(re.sub(r"(\[?-?\d+\.\d+[,\]]?|^system)(?=\s|$)", "", line) for line in lines_of(text))
    assert all(name.replace(" ", "") in "".join(letters.split()) for name in names[:3])


@pytest.mark.parametrize("width", [40, *WIDTHS])
def test_one_row_is_explained_in_full(shown, width):
    one = row(names=list(MEASURES), labels={"system": "s"}, flags=(WARNING,))
    lines = shown([one], width, verbose=True, explain=True).splitlines()
    assert max(map(cell_len, lines)) <= width
    text = joined(lines)
    for name in one.metrics:
        assert MEASURES[name].meaning in text
    assert text.count("0.01 (0.02)") + text.count("0.0100 (0.0200)") >= 1
    assert "warning few-speakers: too few" in text


def test_one_row_is_ten_measures_and_the_codes_of_its_flags(shown, audit_rows):
    text = shown(audit_rows[3:], 80)
    lines = text.splitlines()
    assert len(lines) <= 20
    names = [name for name in headline_measures() if name in audit_rows[3].metrics][:10]
    rule = next(place for place, line in enumerate(lines) if line.startswith("──"))
    table = lines[rule + 1 : lines.index("", rule)]
    assert [line.split("  ")[0] for line in table] == [heading(name) for name in names]
    assert "people_named" in names
    assert lines[-1] == audit_rows[3].signature
    for code in (flag.code for flag in audit_rows[3].flags):
        assert text.count(code) == 1
    assert not any(MEASURES[name].meaning in joined(lines) for name in names)
    assert MEASURES["eer"].meaning in joined(shown(audit_rows[3:], 100, explain=True).splitlines())


def test_several_values_of_a_measure_stand_with_its_sentence(shown):
    one = Evaluation({"tag_counts": MeasureResult({"0": 3, "A": 14}, "count")}, {"target": 1})
    for width in WIDTHS:
        assert "0: 3, A: 14" in shown([one], width)


def test_several_recordings_follow_the_measures(shown, audit_rows):
    one = render(audit_rows[3:], "text", verbose=True)
    found = audit_rows[3].recordings
    assert "Several recordings of one person" in one
    line = next(line for line in one.splitlines() if re.match(r"\s*3\s", line))
    assert line.split()[:3] == ["3", "20", f"{100 * found.top1[2]:.2f}"]
    assert "hold 10 recordings of one person could not be tried" in " ".join(one.split())
    several = shown(audit_rows, 120, verbose=True).partition("Several recordings of one person")[2]
    lines = [line.split() for line in several.splitlines() if re.match(r"[14] ", line)]
    assert [[words[0], *words[-8:-6]] for words in lines] == [
        ["4", "1", "20"],
        ["4", "3", "20"],
        ["1", "1", "20"],
        ["1", "3", "20"],
    ]
    for less in ({"measures": ["top1"], "verbose": True}, {}):
        assert "Several recordings" not in render(audit_rows, "text", **less)


def test_recordings_come_back_from_json(audit_rows):
    text = render(audit_rows, "json")
    assert [row.recordings for row in from_json(text)] == [row.recordings for row in audit_rows]
    assert [row.people for row in from_json(text)] == [row.people for row in audit_rows]
