"""Names of people and systems are data: one list of hostile ones through every output."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest

from benchmarks.hostile_names import HOSTILE, result
from zeroevidence import compare
from zeroevidence.data.formats.attack_scores import escape_table, read_linked, unescape_table
from zeroevidence.evaluation import Flag
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.report import render
from zeroevidence.report.comparisons import render_comparisons
from zeroevidence.report.people import speaker_table, write_table

TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
FORMULA = ("=", "+", "@", "\t", "\r")


@pytest.fixture(scope="module")
def results():
    return {name: result(name, intervals=0, null=0) for name in HOSTILE}


@pytest.mark.parametrize("name", HOSTILE)
def test_tables(results, name, tmp_path):
    row = results[name]
    lines = list(csv.reader(io.StringIO(render([row], "csv"), newline="")))
    for cell in (cell for line in lines[1:] for cell in line):
        assert not cell.startswith(FORMULA)
        assert not (cell.startswith("-") and not re.fullmatch(r"-(inf|[0-9.e+-]+)", cell))
    assert name in lines[1][0]  # after an apostrophe at most
    frame = speaker_table([row])
    write_table(frame, tmp_path / "s.csv")
    assert not any(
        cell.startswith((*FORMULA, "-")) for cell in pl.read_csv(tmp_path / "s.csv", infer_schema=False)["speaker"]
    )
    assert unescape_table(escape_table(frame)).equals(frame)
    text = render([row], "text")
    assert "\x1b[31m" not in text
    assert not TURNING.search(text)
    document = to_json([row])
    json.loads(document)
    assert from_json(document)[0].labels["system"] == name


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
    assert r"\input" not in "\n".join(lines)
    assert r"$x" not in "\n".join(lines).replace(r"\$", "")
    assert all(line.startswith(("\\", "%")) or line.endswith(r"\\") or "% row" in line for line in lines if line)


class Tags(HTMLParser):
    """Number of scripts, and names of attributes that run or load something."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.handlers, self.addresses = 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value for name, value in attrs if name in ("href", "src") and value and ":" in value]


def test_html(results, only_figure):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from zeroevidence.report.inputs import ReportInputs, ReportOptions
    from zeroevidence.report.page import to_html

    only_figure("people")
    script = "<script>alert(1)</script>"
    card = {"name": script, "objective": script, "resources": [script], "backend": script}
    rows = [row.with_flags(Flag("odd", "note", script)) for row in results.values()]
    inputs = ReportInputs(rows, [card] * len(rows))
    text = to_html(inputs, ReportOptions(title=script, command=f"zeroevidence {script}"))
    plain, found = Tags(to_html(ReportInputs([result("plain")]))), Tags(text)
    assert (found.scripts, found.handlers) == (plain.scripts, [])
    assert "&lt;script&gt;alert(1)" in text
    assert not [address for address in found.addresses if address.startswith(("javascript", "http://x"))]
    assert not TURNING.search(text)
    assert "\x00" not in text


@pytest.mark.parametrize("format", ["text", "md", "latex", "csv"])
def test_comparisons(format):
    for name in HOSTILE[:6]:
        other = replace(result("plain", 1), labels={"system": "plain", "dataset": name})
        text = render_comparisons(compare([result(name), other], ["eer"]), format)
        assert "<script" not in text or format in ("text", "csv", "latex")
        if format == "csv":
            assert not any(cell.startswith(FORMULA) for line in csv.reader(io.StringIO(text)) for cell in line)


def test_names_come_back_from_the_table_of_a_search(tmp_path):
    columns = {"trial": ["=a", "-b"], "speaker": ["+p", "'q"], "lid": [1.0, -2.0], "greater": [0, 1], "equal": [0, 0]}
    write_table(pl.DataFrame(columns), tmp_path / "trials.csv")
    found = read_linked(tmp_path, 3)
    assert sorted(found.trial.tolist()) == ["-b", "=a"]
    assert sorted(found.speaker.tolist()) == ["'q", "+p"]
