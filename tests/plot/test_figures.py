"""Figures, tested by the data that they draw."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtri

import zeroevidence as ze
from tests.effort import spread
from zeroevidence import plot
from zeroevidence.attack.attackers import find_attacker
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation import About, Curve, Evaluation, MeasureResult, People, Points
from zeroevidence.evaluation.people import with_seconds
from zeroevidence.plot.canvas import legend, look, new_axes
from zeroevidence.plot.rows import row_names, shortened

mpl = pytest.importorskip("matplotlib")
Figure = pytest.importorskip("matplotlib.figure").Figure

PAIRS = ("ece", "histogram", "det", "tippett", "pav", "linkability")
TRIALS = ("posterior", "lid-histogram", "lid-ccdf", "exposed", "lid-over-priors", "cmc", "rank-disclosure")
OVER_ROWS = ("bars", "scatter", "eer-lid")
OVER_SIZES = ("over-identities", "over-utterances")
SEARCH = ("attackers", *PAIRS, *TRIALS, *OVER_SIZES, "people", *OVER_ROWS, "similarity")
ASKED_FOR = (*SEARCH, "tandem-scores", "t-dcf", "t-dcf-surface", "map", "over-epochs", "link-over-seconds")


def line(ax, start):
    """The line whose label starts so."""
    return next(one for one in ax.get_lines() if str(one.get_label()).startswith(start))


def sample_of(kind, rows, tandem, mapped):
    trained = replace(rows[0], curves={"mu_over_epochs": Curve((0.0, 1.0, 2.0), (10.0, 7.0, 6.5))})
    timed = with_seconds(rows[0], dict.fromkeys(rows[0].trials.trial.tolist(), 3.0))
    own = {"map": mapped, "over-epochs": trained, "link-over-seconds": timed}
    return (own | dict.fromkeys(("tandem-scores", "t-dcf", "t-dcf-surface"), tandem)).get(kind, rows[0])


def test_the_front_draws_protectors_over_their_strengths(rows):
    placed = []
    for strength in (0.0, 0.5):
        about = About(question="attribute", attribute="sex", protector="leace", strength=strength)
        placed += [replace(rows[0], about=about), replace(rows[0], about=replace(about, role="utility"))]
    ax = Figure().add_subplot()
    assert plot.KINDS["front"].function(placed, ax=ax) is ax
    assert ax.has_data()
    assert "front" in plot.available(placed)
    ET.fromstring(plot.to_svg("front", placed))


def attacked(system, eer, wer, name="lazy-informed"):
    """A row of an attacker and one of utility; an interval on each."""
    threat = ThreatModel(name, "original" if name == "unprotected" else "anonymised",
                         "original" if name == "unprotected" else "anonymised")  # fmt: skip
    return [
        Evaluation(
            {"eer": MeasureResult(eer, "rate", low=eer - 0.02, high=eer + 0.02)},
            labels={"system": system},
            about=About.against(threat),
        ),
        Evaluation(
            {"wer": MeasureResult(wer, "rate", low=wer - 0.01, high=wer + 0.01)},
            labels={"system": system},
            about=About(role="utility", speech=threat.trial),
        ),
    ]


def test_the_tradeoff_marks_what_no_other_system_beats():
    placed = [*attacked("a", 0.3, 0.1), *attacked("b", 0.2, 0.15), *attacked("c", 0.4, 0.2)]
    placed += [*attacked("unprotected", 0.05, 0.03, "unprotected"), *attacked("a", 0.35, 0.1)[:1]]
    ax = plot.tradeoff(placed)
    ring = line(ax, "front")
    assert list(zip(*ring.get_data(), strict=True)) == [(3.0, 5.0), (10.0, 30.0), (20.0, 40.0)]  # b is beaten by a
    (steps,) = (one for one in ax.get_lines() if one.get_drawstyle() == "steps-post")
    assert list(steps.get_xdata()) == [3.0, 10.0, 20.0]
    for name, across, up in (("a", 10.0, 30.0), ("b", 15.0, 20.0), ("unprotected", 3.0, 5.0)):
        point = line(ax, name)
        assert (point.get_xdata()[0], point.get_ydata()[0]) == (across, up)
    bars = [one for one in ax.get_lines() if len(one.get_xdata()) == 2 and one.get_linewidth() == 0.5]
    assert len(bars) == 8
    assert any(np.allclose(one.get_xdata(), [9.0, 11.0]) and np.allclose(one.get_ydata(), 30.0) for one in bars)
    ET.fromstring(plot.to_svg("tradeoff", placed))


def test_the_tradeoff_needs_both():
    attack, words = attacked("a", 0.3, 0.1)
    assert "tradeoff" not in plot.available(attack)
    assert "tradeoff" not in plot.available([attack, *attacked("b", 0.3, 0.1)[1:]])
    assert "tradeoff" in plot.available([attack, words])
    with pytest.raises(UsageError, match="needs attackers on protected speech and its utility"):
        plot.tradeoff([words])
    with pytest.raises(UsageError, match="no result has both wer and d_ece"):
        plot.tradeoff([attack, words], y="d_ece")


def test_available(rows, tandem, mapped, bare):
    assert plot.available(rows[0]) == list(SEARCH)
    assert plot.available(tandem) == ["bars", "scatter", "tandem-scores", "t-dcf", "t-dcf-surface"]
    assert plot.available(mapped) == ["map"]
    assert plot.available([mapped, tandem]) == [*plot.available(tandem), "map"]
    assert plot.available(bare()) == []
    assert "ece" not in plot.available(bare(curves={"ece": replace(rows[0].curves["ece"], baseline=None)}))


@pytest.mark.parametrize("kind", ASKED_FOR)
def test_each_kind_draws_one_and_several_and_leaves_no_trace(kind, rows, tandem, mapped):
    before = dict(mpl.rcParams)
    one = sample_of(kind, rows, tandem, mapped)
    several = rows if one is rows[0] else [one, replace(one, labels={"system": "other"})]
    ET.fromstring(plot.to_svg(kind, several))
    ax = Figure().add_subplot()
    assert plot.KINDS[kind].function(one, ax=ax) is ax
    assert ax.has_data()
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize("kind", spread(list(ASKED_FOR), 4))
def test_other_formats(kind, rows, tandem, mapped):
    one = sample_of(kind, rows, tandem, mapped)
    assert plot.to_bytes(kind, one, format="pdf").startswith(b"%PDF")
    assert plot.to_bytes(kind, one, format="png").startswith(b"\x89PNG")


def test_ece_draws_profiles_area_and_tag(rows):
    ax = plot.ece(rows[0])
    curve = rows[0].curves["ece"]
    drawn = line(ax, "strong")
    assert tuple(drawn.get_ydata()) == curve.y
    tag, worst = rows[0].metrics["tag"].value, rows[0].metrics["worst_case"].value
    assert drawn.get_label() == f"strong ({rows[0].metrics['d_ece'].value:.3g}, {worst:.3g}, {tag})"
    assert tuple(line(ax, "zero evidence").get_ydata()) == curve.baseline
    area = plot.ece(rows[0], x="prior").collections[0].get_paths()[0]
    corners = area.vertices
    shoelace = abs(np.dot(corners[:-1, 0], corners[1:, 1]) - np.dot(corners[1:, 0], corners[:-1, 1])) / 2
    assert shoelace == pytest.approx(rows[0].metrics["d_ece"].value, abs=2e-3)
    assert tuple(line(plot.ece(rows, x="prior"), "weak").get_xdata()) == tuple(expit(np.array(curve.x)))


def test_det_is_on_normal_deviates_and_ends_where_the_data_do(rows):
    ax = plot.det(rows)
    rates = [np.array([row.curves["det"].x, row.curves["det"].y]) for row in rows]
    for number, name in enumerate(("strong", "weak")):
        seen = ((rates[number] > 0.0) & (rates[number] < 1.0)).all(axis=0)
        drawn = line(ax, name)
        assert np.array([drawn.get_xdata(), drawn.get_ydata()]) == pytest.approx(ndtri(rates[number][:, seen]))
    both = np.concatenate(rates, axis=1)
    for side, limits in zip(both, (ax.get_xlim(), ax.get_ylim()), strict=True):
        inside = side[(side > 0.0) & (side < 1.0)]
        assert limits == pytest.approx(ndtri((min(inside.min(), 0.2), max(inside.max(), 0.6))))
    assert ax.get_ylim()[0] == pytest.approx(ndtri(1 / 48))  # one of 48 targets, where 528 non-targets go further
    assert ax.get_xlim()[0] == pytest.approx(ndtri(1 / 528))
    eers = [ndtri(row.metrics["eer"].value) for row in rows]
    marked = [one.get_xdata()[0] for one in ax.get_lines() if len(one.get_xdata()) == 1]
    assert marked == pytest.approx(eers)
    assert "50" in [tick.get_text() for tick in ax.get_xticklabels()]
    apart = plot.det([3.0, 4.0], [1.0, 2.0])  # no error is seen: nothing to draw but guessing
    assert [len(one.get_xdata()) for one in apart.get_lines()] == [2, 0]


def test_ranks_are_whole_numbers(rows):
    for ax in (plot.cmc(rows), plot.rank_disclosure(rows)):
        assert ax.get_xticks().tolist() == [1, 3, 5, 7, 9, 11]
    few = plot.cmc(
        ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]), options=ze.Options(intervals=0, null=0))
    )
    assert few.get_xticks().tolist() == [1, 2, 3, 4]


def test_legends_do_not_repeat(rows):
    assert legend_of(plot.exposed(rows)) == ["strong", "weak", "at most", "measured"]
    with plot.style():
        ax = new_axes(None)
        ax.plot([0, 1], label="same")
        ax.plot([1, 0], label="same")
        ax.plot([1, 1], label="other")
        legend(ax)
    assert legend_of(ax) == ["same", "other"]
    first, second = plot.draw("histogram", rows).axes
    eers = [f"EER {100 * row['eer'].value:.3g} %" for row in rows]
    assert legend_of(first) == ["non-mated (528)", "mated (48)", eers[0]]
    assert legend_of(second) == [eers[1]]  # both classes look as in the first panel
    fewer = replace(rows[1], counts={**rows[1].counts, "target": 40})
    assert legend_of(plot.draw("histogram", [rows[0], fewer]).axes[1]) == ["mated (40)", eers[1]]
    assert [panel.get_legend() is None for panel in plot.draw("people", [rows[0], rows[0]]).axes] == [False, True]


def test_densities_and_local_linkability(rows):
    ax = plot.linkability(rows[0])
    outlines = [patch.get_data() for patch in ax.patches if str(patch.get_label()).startswith("mated")]
    assert tuple(outlines[0].values) == rows[0].curves["histogram_target"].y
    assert "(48)" in next(str(p.get_label()) for p in ax.patches if str(p.get_label()).startswith("mated"))
    right = next(other for other in ax.figure.axes if other is not ax)
    local = rows[0].curves["local_linkability"]
    assert tuple(right.get_lines()[0].get_ydata()[:-1]) == local.y
    assert any("linkability 0." in str(one.get_label()) for one in ax.get_lines())


def test_tippett_begins_and_ends_at_what_is_finite(bare):
    curve = Curve((-np.inf, 0.5, np.inf), (0.9, 0.3, 0.0))
    row = bare(labels={"system": "a"}, curves={"tippett_target": curve, "tippett_nontarget": curve})
    drawn = line(plot.tippett(row), "a")
    assert drawn.get_ydata().tolist() == [0.9, 0.3, 0.3]
    assert np.isfinite(drawn.get_xdata()).all()


def test_likelihood_ratios_are_powers_of_ten_in_every_figure():
    """Cllr and rates of misleading evidence by hand, of ratios that are given, and of scores that were calibrated."""
    target, nontarget = np.array([8.0, 2.0, 4.0, 0.5]), np.array([0.25, 0.125, 2.0, 0.1, 0.3])
    options = ze.Options(intervals=0, null=0)
    row = ze.evaluate(target, nontarget, llr="lr", labels={"system": "a"}, options=options)
    cllr = 0.5 * (np.log2(1.0 + 1.0 / target).mean() + np.log2(1.0 + nontarget).mean())
    ax = plot.tippett(row)
    assert ax.get_xlabel() == "log10 LR"
    classes = ["same-source (25 % misleading)", "different-source (20 % misleading)"]
    assert legend_of(ax) == [f"a: Cllr {cllr:.3g} bit", *classes]
    above = dict(zip(row.curves["tippett_target"].x, row.curves["tippett_target"].y, strict=True))
    assert above[np.log(2.0) / np.log(10.0)] == 0.5  # of 8, 4, 2 and 0.5
    names = [" ".join(name.split()) for name in legend_of(plot.tippett([row, replace(row, labels={"system": "b"})]))]
    assert names[0] == f"a: Cllr {cllr:.3g} bit, misleading 25 % of same-source and 20 % of different-source"
    assert names[2:] == ["same-source", "different-source"]
    assert plot.ece(row).get_xlabel() == "log10 of the prior odds of the same source"
    for kind in (plot.pav, plot.histogram, plot.linkability):
        ax = kind(row)
        assert ax.get_xlabel() == "log10 LR"
        low, high = ax.get_xlim()
        assert low < -0.99  # log10 of 0.1
        assert 0.9 < high < np.log(8.0)
    histogram = next(patch.get_data() for patch in plot.histogram(row).patches if "same" in str(patch.get_label()))
    assert np.sum(histogram.values * np.diff(histogram.edges)) == pytest.approx(1.0)
    scores = ze.evaluate(target, nontarget, options=options)
    assert plot.pav(scores).get_xlabel() == plot.histogram(scores).get_xlabel() == "score"


def test_pav_marks_infinite_ends(rows):
    ax = plot.pav(rows[0])
    carets = {one.get_marker() for one in ax.get_lines()} - {"None"}
    ends = {
        end for end, llr in (("v", rows[0].curves["pav"].y[0]), ("^", rows[0].curves["pav"].y[-1])) if np.isinf(llr)
    }
    assert ends
    assert carets == ends


def test_search_figures_draw_their_curves(rows):
    assert tuple(line(plot.posterior(rows[0]), "strong").get_ydata()) == rows[0].curves["posterior"].y
    assert line(plot.posterior(rows[0]), "chance").get_label() == "chance 0.083"
    assert tuple(line(plot.cmc(rows), "weak").get_ydata()) == rows[1].curves["cmc"].y
    bars = plot.lid_histogram(rows[0]).patches
    assert [bar.get_height() for bar in bars] == list(rows[0].curves["lid_histogram"].y)
    ccdf = line(plot.lid_ccdf(rows), "strong")
    assert tuple(ccdf.get_ydata()[1:-1]) == rows[0].curves["lid_ccdf"].y
    assert ccdf.get_ydata()[0] == 1.0
    assert tuple(line(plot.rank_disclosure(rows), "weak").get_ydata()) == rows[1].curves["rank_disclosure"].y


def test_over_identities_and_utterances_pick_a_measure(rows):
    singled = line(plot.over_identities(rows, y="singling_out"), "strong")
    assert tuple(singled.get_ydata()) == rows[0].curves["singling_out_over_identities"].y
    linked = line(plot.over_utterances(rows, y="link_probability"), "weak")
    assert tuple(linked.get_ydata()) == rows[1].recordings.link_probability
    assert tuple(line(plot.over_utterances(rows), "strong").get_ydata()) == rows[0].recordings.alid
    with pytest.raises(UsageError, match="expected one of link_probability, singling_out"):
        plot.over_identities(rows, y="eer")


def test_scatter_takes_any_two_measures(rows):
    ax = plot.scatter(rows, x="eer", y="lid_max")
    at = line(ax, "strong")
    assert at.get_xdata()[0] == pytest.approx(100 * rows[0].metrics["eer"].value)
    assert at.get_ydata()[0] == rows[0].metrics["lid_max"].value
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("EER (%)", "LID_max (bits)")
    with pytest.raises(UsageError, match="no result has both"):
        plot.scatter(rows, x="tag", y="eer")
    with pytest.raises(UsageError, match="nonsense"):
        plot.scatter(rows, x="nonsense", y="eer")


def test_bars_of_eer_and_lid_stand_on_one_line(rows):
    ax = plot.eer_lid(rows)
    right = next(other for other in ax.figure.axes if other is not ax)
    assert [bar.get_height() for bar in ax.containers[0]] == pytest.approx([100 * r.metrics["eer"].value for r in rows])
    assert [bar.get_height() for bar in right.containers[1]] == [r.metrics["lid_max"].value for r in rows]
    zero = [a.transData.transform((0, 0))[1] for a in (ax, right)]
    assert zero[0] == pytest.approx(zero[1])


def test_people_most_exposed_first_and_hidden_names(rows):
    people = replace(rows[0].people, trials=(5,) * 12)
    ax = plot.people(replace(rows[0], people=people))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(people.speaker)
    assert sorted(line(ax, "largest").get_xdata()) == sorted(people.lid_max)
    hidden = plot.to_svg("people", rows[0], hide=True)
    assert "person 1<" in hidden
    assert not any(f">{name}<" in hidden for name in people.speaker)
    many = tuple(f"n{i}" for i in range(40))
    long = replace(rows[0], people=People(many, (1,) * 40, (1.0,) * 40, (2.0,) * 40, (0.0,) * 40))
    assert len(plot.people(long).get_yticks()) == 30


def test_similarity_hides_names(rows):
    image = plot.similarity(rows[0]).images[0]
    assert np.asarray(image.get_array()) == pytest.approx(np.array(rows[0].surfaces["similarity"].z))
    assert ">s01<" in plot.to_svg("similarity", rows[0])
    assert ">s01<" not in plot.to_svg("similarity", rows[0], hide=True)


def test_tandem_curve_and_surface(tandem):
    drawn = line(plot.t_dcf(tandem), "cm")
    finite = np.isfinite(tandem.curves["t_dcf"].x)
    assert drawn.get_ydata().tolist() == np.array(tandem.curves["t_dcf"].y)[finite].tolist()
    assert min(tandem.curves["t_dcf"].y) == pytest.approx(tandem.metrics["tdcf_min"].value)
    ax = plot.t_dcf_surface(tandem)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    names = {"joint": "tdcf_joint_min", "fixed": "tdcf_fixed_joint"}
    assert texts == [f"{how} min t-DCF (unconstrained) {tandem[name]:.3g}" for how, name in names.items()]
    assert ax.get_lines()[1].get_ydata()[0] == tandem.curves["threshold_asv"].x[0]
    cost = np.array(tandem.surfaces["t_dcf"].z)
    assert cost.shape == (len(tandem.surfaces["t_dcf"].x), len(tandem.surfaces["t_dcf"].y))
    assert cost.min() >= tandem.metrics["tdcf_joint_min"].value - 1e-12


def test_maps_get_a_panel_each(mapped):
    figure = plot.draw("map", mapped)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["before", "after"]
    one = plot.map(mapped, name="after")
    assert line(one, "f").get_xdata().tolist() == [0.0, 2.0]
    with pytest.raises(UsageError, match="name: expected one of before, after, got 'x'"):
        plot.map(mapped, name="x")


def test_results_that_lack_the_data_say_what_they_have(rows, tandem, bare):
    lacks = r"'t-dcf' needs scores of a verifier .*, which this result does not have; figures .*: attackers, ece, "
    with pytest.raises(UsageError, match=lacks):
        plot.draw("t-dcf", rows[0])
    with pytest.raises(UsageError, match="which these results do not have; no figure can be drawn"):
        plot.draw("ece", [bare(), bare()])
    with pytest.raises(UsageError, match="unknown kind of figure 'pie'"):
        plot.draw("pie", rows)
    with pytest.raises(UsageError, match="shows one result, got 2"):
        plot.people(rows)
    with pytest.raises(UsageError, match="needs 25 panels, but at most 24 fit"):
        plot.draw("people", [rows[0]] * 25)
    with pytest.raises(UsageError, match="expected one of pdf, svg, png"):
        plot.to_bytes("ece", rows, format="gif")
    drawn = plot.draw("ece", [*rows, tandem]).axes[0].get_lines()
    assert len([one for one in drawn if len(one.get_xdata())]) == 3


NASTY = '$\\frac{1}{2}$ <script>alert(1)</script> & "id="x"" \'q\' \x0b\udc80 語'


def test_svg_is_safe_deterministic_and_alone(rows):
    nasty = replace(
        rows[0],
        labels={"system": NASTY},
        people=replace(rows[0].people, speaker=(NASTY, *rows[0].people.speaker[1:]), trials=(5,) * 12),
    )
    for kind in ("ece", "people", "eer-lid"):
        svg = plot.to_svg(kind, nasty)
        assert svg == plot.to_svg(kind, nasty)
        assert svg.startswith("<svg ")
        assert "<?xml" not in svg
        assert "<!DOCTYPE" not in svg
        assert "<script" not in svg
        assert "<text" in svg
        root = ET.fromstring(svg)
        assert any("$" in "".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
    first, second = plot.to_svg("ece", rows[0]), plot.to_svg("det", rows[0])
    ids = [set(re.findall(r'\sid="([^"]+)"', svg)) for svg in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for svg, own in zip((first, second), ids, strict=True):
        used = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'href="#([^"]+)"', svg))
        assert used <= own


def test_pdf_is_the_same_each_time_and_has_real_fonts(rows):
    pdf = plot.to_bytes("ece", rows, format="pdf")
    assert pdf == plot.to_bytes("ece", rows, format="pdf")
    assert b"/Type3" not in pdf
    assert b"/TrueType" in pdf or b"/CIDFontType2" in pdf


def test_width_is_one_column_unless_asked(rows):
    assert plot.draw("ece", rows[0]).get_size_inches()[0] == 3.5
    assert plot.draw("ece", rows[0], width=7).get_size_inches()[0] == 7
    assert plot.draw("people", rows).get_size_inches()[0] == 7


def test_names_tell_rows_apart(bare):
    assert shortened("\u540d" * 50, 24) == "\u540d" * 11 + "…"
    assert shortened("a\u202eb\nc") == "a\ufffdb c"
    assert len({look(number)[:2] for number in range(28)}) == 28

    def row(**labels):
        return bare(labels=labels)

    threats = [ThreatModel("lazy", "original", "anonymised"), ThreatModel("smart", "anonymised", "anonymised")]
    two = [bare(labels={"system": "a"}, about=About.against(threat)) for threat in threats]
    assert row_names(two) == ["lazy", "smart"]
    assert row_names([row(system="a", sex="f"), row(system="b", sex="m")]) == ["a", "b"]
    assert row_names([row(system="a"), row(system="a")]) == ["a (1)", "a (2)"]
    assert row_names([row()]) == ["these scores"]


def test_matplotlib_comes_late_and_is_named_when_missing(monkeypatch, rows):
    code = "import sys, zeroevidence.plot, zeroevidence.cli.commands.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"zeroevidence\[report\]"):
        plot.ece(rows[0])


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_recordings_are_drawn_with_intervals_and_chance(rows):
    ax = plot.over_utterances(rows, y="top1")
    assert len(ax.collections) == 2  # a band each
    assert line(ax, "chance").get_ydata()[0] == pytest.approx(1 / 12)
    assert line(plot.over_utterances(rows, y="singling_out"), "chance").get_ydata()[0] == pytest.approx((11 / 12) ** 11)
    assert len(plot.over_utterances([*rows, *rows]).collections) == 0
    alone = replace(rows[0], recordings=replace(rows[0].recordings, alid_low=None, alid_high=None))
    assert len(plot.over_utterances(alone).collections) == 0


def test_classes_of_an_attribute_are_no_pairs(rows):
    row = replace(rows[0], labels={"system": "flow", "attribute": "accent", "class": "north"})
    assert [text.split(" (")[0] for text in legend_of(plot.histogram(row))[:2]] == ["other classes", "north"]
    assert plot.ece(row).get_xlabel() == "log10 of the prior odds of north"
    assert legend_of(plot.tippett(rows[0]))[-2:] == ["same-source", "different-source"]
    two = replace(row, labels={"attribute": "sex"})
    assert legend_of(plot.tippett(two))[-2:] == ["one class", "other class"]
    named = replace(row, about=About(question="attribute", attribute="sex", target_class="f", other_class="m"),
                    labels={"attribute": "sex"})  # fmt: skip
    assert [text.split(" (")[0] for text in legend_of(plot.histogram(named))[:2]] == ["m", "f"]


def test_scores_of_a_tandem_have_their_thresholds(tandem):
    figure = plot.draw("tandem-scores", tandem)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["verifier", "countermeasure"]
    ax = plot.tandem_scores(tandem, name="verifier")
    (threshold,) = {x for one in ax.lines for x in one.get_xdata()}
    assert threshold == tandem.curves["threshold_asv"].x[0]
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    accepted = 100.0 * tandem.curves["threshold_asv"].y[2]
    assert f"spoof, {accepted:.3g} % accepted" in said
    assert tandem.metrics["p_fa_spoof"].value == tandem.curves["threshold_asv"].y[2]


def labelled_row(value, system, enrolment, trial):
    labels = {"system": system, "enrolment": enrolment, "trial": trial, "attacker": f"{enrolment[0]}{trial[0]}"}
    return Evaluation(
        {"linkability": MeasureResult(value, "fraction"), "cllr_min": MeasureResult(0.1, "bit")}, labels=labels
    )


def test_posteriors_as_a_histogram(rows):
    ax = plot.posterior(rows[0], form="histogram")
    (steps,) = [one for one in ax.patches if not one.get_fill()]
    values, edges, _ = steps.get_data()
    assert values.sum() == pytest.approx(1.0)
    probability = np.exp2(rows[0].trials.lid) / 12
    assert values == pytest.approx(np.histogram(probability, edges)[0] / 48)
    assert line(ax, "chance, 1/12").get_xdata()[0] == pytest.approx(1 / 12)


def test_disclosure_over_priors_passes_through_alid(rows):
    ax = plot.lid_over_priors(rows)
    curve, dot = ax.lines[0], ax.lines[1]
    assert np.interp(dot.get_xdata(), curve.get_xdata(), curve.get_ydata()) == pytest.approx(dot.get_ydata(), abs=2e-3)


def test_a_latent_map_has_an_axis_of_llrs_and_the_densities_of_its_model(rows):
    points = Points((-4.0, -2.0, 3.0, 5.0), (0.0, 1.0, 0.5, -1.0), ("f", "f", "m", "m"), mu=4.0)
    ax = plot.map(replace(rows[0], maps={"latent": points}))
    assert ax.get_xlabel() == "LLR of m (nats)"
    assert len(ax.get_xticks()) > 2
    densities = [one for one in ax.get_lines() if len(one.get_xdata()) > 100]
    assert len(densities) == 2
    for one, mean in zip(densities, (-4.0, 4.0), strict=True):
        x, y = one.get_data()
        share = y / y.sum()
        assert x[y.argmax()] == pytest.approx(mean, abs=0.1)
        assert share @ (x - share @ x) ** 2 == pytest.approx(8.0, rel=0.05)
    plain = plot.map(replace(rows[0], maps={"latent": replace(points, mu=None)}))
    assert list(plain.get_xticks()) == []


def many(rows, count):
    """So many rows of several attackers and back-ends."""
    threats = [find_attacker(name) for name in ("ignorant", "lazy-informed", "semi-informed")]
    return [
        replace(
            rows[place % 2],
            labels={"system": "mcadams:0.5..0.9:utterance+pitch:-4..4", "backend": f"backend-{place // 3}"},
            about=About.against(threats[place % 3]),
        )
        for place in range(count)
    ]


@pytest.mark.parametrize("kind", ["tippett", "ece", "det", "lid-ccdf", "cmc"])
def test_no_colour_stands_for_two_rows(rows, kind):
    """More rows than colours are put into panels, in each of which every row has a colour of its own."""
    figure = plot.draw(kind, many(rows, 14))
    panels = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in panels] == ["ignorant", "lazy-informed", "semi-informed"]
    for ax in panels:
        said = [line for line in ax.get_lines() if "backend-" in str(line.get_label())]
        assert 4 <= len(said) <= 5
        assert len({line.get_color() for line in said}) == len(said)
    assert len(plot.draw(kind, many(rows, 7)).axes) == 1


@pytest.fixture
def attacked_twice():
    """Three systems against two attackers."""
    values = {"one": (0.9, 0.2), "two": (0.8, 0.6), "three": (0.7, 0.4)}
    return [
        labelled_row(value, system, "original", trial)
        for system, both in values.items()
        for trial, value in zip(("original", "anonymised"), both, strict=True)
    ]


def test_bars_are_sorted_by_one_attacker(attacked_twice):
    ax = plot.bars(attacked_twice, y="linkability", sort="oa")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["two", "three", "one"]
    assert legend_of(ax) == ["oo", "oa"]
    for wrong in ({"sort": "aa"}, {"group": "sex"}):
        with pytest.raises(UsageError, match=r"expected one of oa, oo|no row has the label 'sex'"):
            plot.bars(attacked_twice, y="linkability", **wrong)
