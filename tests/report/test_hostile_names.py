"""Names of people and systems are data: one list of hostile ones through every output."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from benchmarks.hostile_names import HOSTILE, result
from zeroevidence import compare
from zeroevidence.data.files.csv_cells import escape_table, unescape_table
from zeroevidence.data.formats.linked_trials import read_linked
from zeroevidence.evaluation.reading.results import from_json, to_json
from zeroevidence.report import render
from zeroevidence.report.tables.comparisons import render_comparisons
from zeroevidence.report.trial_tables import speaker_table, write_table

TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def results():
    return {name: result(name) for name in HOSTILE}


@pytest.mark.parametrize("name", HOSTILE)
def test_csv(results, name):
    rows = list(csv.reader(io.StringIO(render([results[name]], "csv"), newline="")))
    for row in rows[1:]:
        for cell in row:
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))
            assert not (cell.startswith("-") and not re.fullmatch(r"-(inf|[0-9.e+-]+)", cell))
    assert name in rows[1][0]  # after an apostrophe at most


@pytest.mark.parametrize("name", HOSTILE)
def test_tables_of_people(results, name, tmp_path):
    frame = speaker_table([results[name]])
    write_table(frame, tmp_path / "s.csv")
    written = pl.read_csv(tmp_path / "s.csv", infer_schema=False)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in written["speaker"])
    assert unescape_table(escape_table(frame)).equals(frame)


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown(results, name):
    text = render([results[name]], "md")
    assert not TURNING.search(text)
    assert "](" not in text.replace("]\\(", "")
    assert "<" not in text
    cells = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in cells}) == 1
    assert not re.search(r"(?<!\\)`", "\n".join(cells))


@pytest.mark.parametrize("name", HOSTILE)
def test_latex(results, name):
    text = render([results[name], result("plain")], "latex")
    assert not TURNING.search(text)
    assert "\r" not in text
    lines = [line for line in text.split("\n") if not line.startswith("%")]
    shown = "\n".join(lines)
    assert r"\input" not in shown
    assert r"$x" not in shown.replace(r"\$", "")
    assert all(line.startswith(("\\", "%")) or line.endswith(r"\\") or "% row" in line for line in lines if line)


class Tags(HTMLParser):
    """Names of tags and attributes."""

    def __init__(self):
        super().__init__()
        self.scripts, self.handlers, self.addresses = 0, [], []

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value for name, value in attrs if name in ("href", "src") and value and ":" in value]


def test_html(results):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    plain, found = Tags(), Tags()
    plain.feed(page([result("plain")]))
    text = page(list(results.values()))
    found.feed(text)
    assert (found.scripts, found.handlers) == (plain.scripts, [])
    assert not [one for one in found.addresses if one.startswith(("javascript", "http://x"))]
    assert not TURNING.search(text)
    assert "\x00" not in text


def page(rows):
    from zeroevidence.report.html.page import to_html

    return to_html(rows)


@pytest.mark.parametrize("name", HOSTILE)
def test_figures(results, name):
    pytest.importorskip("matplotlib")
    from zeroevidence.plot.figures import to_svg

    svg = to_svg("people", [results[name]])
    root = ET.fromstring(svg)
    assert not [one for one in root.iter() if one.tag.endswith("script") or any(k.startswith("on") for k in one.attrib)]
    assert not TURNING.search(svg)


def test_json_holds_names_as_they_are(results):
    for name in HOSTILE:
        text = to_json([results[name]])
        json.loads(text)
        assert from_json(text)[0].labels["system"] == name


@pytest.mark.parametrize("format", ["text", "md", "latex", "csv"])
def test_comparisons(results, format):
    for name in HOSTILE[:6]:
        other = replace(result("plain", 1), labels={"system": "plain", "dataset": name})
        told = render_comparisons(compare([results[name], other], ["eer"]), format)
        assert "<script" not in told or format in ("text", "csv", "latex")
        if format == "csv":
            cells = [cell for row in csv.reader(io.StringIO(told)) for cell in row]
            assert not any(cell.startswith(("=", "+", "@", "\t")) for cell in cells)


def test_terminals_are_not_written_to(results):
    for name in HOSTILE:
        text = render([results[name]], "text")
        assert "\x1b[31m" not in text, name
        assert not TURNING.search(text), name


def test_names_come_back_from_the_table_of_a_search(tmp_path):
    columns = {"trial": ["=a", "-b"], "speaker": ["+p", "'q"], "lid": [1.0, -2.0], "greater": [0, 1], "equal": [0, 0]}
    write_table(pl.DataFrame(columns), tmp_path / "trials.csv")
    found = read_linked(tmp_path, 3)
    assert sorted(found.trial.tolist()) == ["-b", "=a"]
    assert sorted(found.speaker.tolist()) == ["'q", "+p"]
