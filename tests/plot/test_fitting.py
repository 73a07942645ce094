"""Nothing that a figure writes is cut: legends, names and titles stay within the sheet, at any width."""

from dataclasses import replace

import pytest

from zeroevidence import plot
from zeroevidence.data.threat import ThreatModel
from zeroevidence.evaluation import About, Curve

Figure = pytest.importorskip("matplotlib.figure").Figure
Axes = pytest.importorskip("matplotlib.axes").Axes

SYSTEMS = (
    "resynthesis through phonetic features and a pool of x-vectors",
    "samegender_f0mod",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "pitch:2",
    "B1.a, random gender",
    "t9",
    "a long name, which nobody shortened",
)


def named(rows, count):
    """So many results of systems with long names."""
    threat = ThreatModel("lazy-informed", "anonymised", "anonymised")
    curves = {"mu_over_epochs": Curve((0.0, 1.0, 2.0), (300.0, 7.0, 0.5))}
    return [
        replace(
            rows[place % 2],
            labels={"system": SYSTEMS[place % len(SYSTEMS)], "dataset": f"data {place // len(SYSTEMS)}"},
            about=About.against(threat),
            curves={**rows[place % 2].curves, **curves},
        )
        for place in range(count)
    ]


def is_whole(figure):
    """Whether everything that is drawn lies on the sheet, and axes are wide enough to be read."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for ax in figure.axes:
        drawn, sheet = ax.get_tightbbox(renderer), figure.bbox
        cut = max(sheet.x0 - drawn.x0, drawn.x1 - sheet.x1, sheet.y0 - drawn.y0, drawn.y1 - sheet.y1)
        inches = ax.get_window_extent(renderer)
        if cut > 1.5 or inches.width < 0.7 * figure.dpi or inches.height < 0.7 * figure.dpi:
            return False
    return True


@pytest.mark.parametrize(("kind", "times"), [("cmc", 1), ("attackers", 2)])
def test_texts_are_measured_again_only_where_they_may_reach_further(rows, kind, times, monkeypatch):
    measured, measure = [], Axes.get_tightbbox
    monkeypatch.setattr(Axes, "get_tightbbox", lambda *given, **how: measured.append(given) or measure(*given, **how))
    plot.draw(kind, rows).draw_without_rendering()
    assert len(measured) == times


def test_a_legend_below_wide_axes_takes_nothing_from_their_width(rows):
    figure = plot.draw("ece", named(rows, 7), width=7.0)
    figure.draw_without_rendering()
    (ax,) = figure.axes
    beside = ax.yaxis.get_tightbbox(figure.canvas.get_renderer()).x0
    assert 0.0 < beside < 0.1 * figure.dpi


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("kind", ["over-identities", "over-utterances", "scatter", "bars", "cmc", "over-epochs"])
def test_nothing_is_cut(rows, kind, count):
    assert is_whole(plot.draw(kind, named(rows, count)))


def test_panels_of_a_narrow_figure_stand_below_each_other(rows):
    narrow, wide = (plot.draw("cmc", named(rows, 14), width=width) for width in (3.5, 7.0))
    for figure, columns in ((narrow, 1), (wide, 2)):
        assert {ax.get_gridspec().ncols for ax in figure.axes} == {columns}
    assert is_whole(narrow)


@pytest.mark.parametrize("values", [(10.0, 7.0, 6.5), (300.0, 7.0, 0.02), (1.0, 1.001, 1.002)])
def test_a_logarithmic_axis_has_readable_ticks(rows, values):
    row = replace(rows[0], curves={"mu_over_epochs": Curve((0.0, 1.0, 2.0), values)})
    assert len(plot.over_epochs(row).get_lines()) == 1
    ax = plot.over_epochs(row, truth=values[1])
    assert list(ax.get_lines()[-1].get_ydata()) == [values[1]] * 2
    assert ax.get_lines()[-1].get_label() == f"true: {values[1]:g}"
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    texts = [
        label.get_text()
        for label, at in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)
        if low <= at <= high and label.get_text()
    ]
    assert 2 <= len(texts) <= 9
    assert len(set(texts)) == len(texts)
    assert not any("e" in text or "$" in text for text in texts)
