"""Tables for LaTeX fit the text of an article, in the widths of the font that LaTeX uses."""

import re
from pathlib import Path

import pytest

from zeroevidence.attack.attackers import find_attacker
from zeroevidence.evaluation import About, Evaluation, MeasureResult, Setup
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.report import render

pytest.importorskip("matplotlib")
TEXT = 345.0  # points, \textwidth of an article in ten points
NAMES = [name for name in headline_measures() if MEASURES[name].family in ("one-to-one", "search")]
THREATS = [find_attacker(name) for name in ("ignorant", "lazy-informed", "semi-informed")]


@pytest.fixture(scope="module")
def points():
    """The width of a text in Computer Modern of ten points."""
    import matplotlib as mpl
    from matplotlib.ft2font import FT2Font

    font = FT2Font(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / "cmr10.ttf"))
    font.set_size(10.0, 72.0)

    def width(text):
        font.set_text(text, 0.0)
        return font.get_width_height()[0] / 64.0

    return width


def rows(count):
    found = []
    for place in range(count):
        metrics = {
            name: MeasureResult("C", "category")
            if MEASURES[name].unit == "category"
            else MeasureResult(0.3125, MEASURES[name].unit, low=0.2871, high=0.3519)
            for name in NAMES
        }
        labels = {"system": f"system-{place // 6}", "backend": ("cosine", "plda")[place // 3 % 2]}
        found.append(
            Evaluation(
                metrics,
                {"target": 192, "nontarget": 4416},
                setup=Setup(recorded=f"ZE|row:{place}|v:0"),
                labels=labels,
                about=About.against(THREATS[place % 3]),
            )
        )
    return found


def tables(text):
    return re.findall(r"\\begin\{tabular\}\{@\{\}(.*?)@\{\}\}\n(.*?)\\end\{tabular\}", text, re.DOTALL)


def width_of(body, points):
    columns = []
    for line in body.splitlines():
        if ("&" not in line and r"\\" not in line) or "multicolumn" in line:
            continue
        cells = line.split(r"\\")[0].split("&")
        plain = [re.sub(r"\{\\scriptsize (.*)\}", r"\1", cell.strip()) for cell in cells]
        plain = [re.sub(r"mathrm|[$\\{}]", "", cell) for cell in plain]
        small = [0.8 if "scriptsize" in cell else 1.0 for cell in cells]  # cmr7 is wider than cmr10 made smaller
        columns.append([points(text) * factor for text, factor in zip(plain, small, strict=True)])
    return sum(max(column) for column in zip(*columns, strict=True)) + 12.0 * (len(columns[0]) - 1)


@pytest.mark.parametrize("count", [1, 5, 14])
@pytest.mark.parametrize("measures", [None, NAMES])
def test_no_table_is_wider_than_the_text(points, count, measures):
    found = tables(render(rows(count), "latex", measures=measures))
    widths = [width_of(body, points) for _, body in found]
    assert max(widths) <= TEXT
    assert max(widths) > 0.6 * TEXT  # and the room is used


def test_many_rows_are_split_by_attacker_and_numbered_through():
    text = render(rows(14), "latex")
    titles = re.findall(r"\\multicolumn\{\d\}\{l\}\{(.*?)\}", text)
    assert titles == ["trial: anonymised", *(f"attacker: {threat.name}" for threat in THREATS)]
    assert len(tables(text)) == 1
    assert "attacker" not in "".join(line for line in text.splitlines() if "&" in line)
    assert "% n in every row: 192 + 4416" in text
    many = tables(render(rows(24), "latex"))
    assert [body.count("\\toprule") for _, body in many] == [1, 1, 1]
    assert [re.findall("attacker: ([a-z-]+)", body) for _, body in many] == [[threat.name] for threat in THREATS]
