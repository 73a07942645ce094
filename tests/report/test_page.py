"""The page as text: complete, escaped, closed to the outside, and the same every time."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import MeasureResult, Points, Setup
from zeroevidence.evaluation.comparison import compare
from zeroevidence.evaluation.results import to_json
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.report.comparisons import comparisons_from_json, render_comparisons
from zeroevidence.report.inputs import ReportInputs, ReportOptions
from zeroevidence.report.page import to_html

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


class Page(HTMLParser):
    """Tags with their attributes, text by section, and what is wrong with the nesting."""

    VOID = ("meta", "input", "br", "path", "use", "rect", "circle", "line", "image")

    def __init__(self, text):
        super().__init__()
        self.tags, self.stack, self.faults, self.headings = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        if not self.stack or self.stack.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if self.stack and self.stack[-1] == "h2" and data.strip():
            self.headings.append(data.strip())

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def text(audit_rows):
    return to_html(ReportInputs(audit_rows), ReportOptions(command="zeroevidence report out"))


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_sections_in_order_and_tags_nested(page):
    assert page.faults == []
    assert page.stack == []
    assert [name in page.headings for name in ("Who attacks", "All results", "Figures")] == [True] * 3


def test_ids_are_unique_and_anchors_lead_somewhere(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        assert link["href"].startswith("#")
        assert link["href"][1:] in ids


def test_nothing_from_outside(text, page):
    for _, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "data", "action", "poster", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (name, value)
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", without_names)


def test_only_our_script_may_run(text, page):
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]


@slow
def test_the_same_input_gives_the_same_bytes(audit_rows, text):
    assert to_html(ReportInputs(audit_rows), ReportOptions(command="zeroevidence report out")) == text


def test_signatures_command_and_environment(audit_rows, text):
    from zeroevidence import __version__

    for row in audit_rows:
        assert row.signature in text
    assert "<code>zeroevidence report out</code>" in text
    assert f"zeroevidence {__version__}, " in text
    assert f"numpy {np.__version__}" in text


def test_flags_are_told_once_with_their_rows(audit_rows, text, without_figures):
    silent = "None of the checks raised a warning."
    assert silent in to_html(ReportInputs([replace(row, flags=()) for row in audit_rows]))
    assert silent not in text  # the calibration of the noise has a weight just below 0
    assert text.count("<code>negative-weight</code>") == 1
    few, failed = flag("few-speakers", speakers=4), flag("control-failed")
    page = to_html(
        ReportInputs([audit_rows[0].with_flags(few, failed), *audit_rows[1:3], audit_rows[3].with_flags(few)])
    )
    for one, rows in ((few, "rows 1, 4"), (failed, "row 1")):
        sentence = one.sentence[:1].upper() + one.sentence[1:]
        words = f'<li class="{one.severity}"><code>{one.code}</code> {sentence} <span class="rows">{rows}</span></li>'
        assert page.count(words) == 1


def test_every_figure_is_there_with_a_caption(audit_rows, page):
    from zeroevidence.plot import available

    kinds = {kind for row in audit_rows for kind in available(row)}
    drawn = {attributes["id"].removeprefix("figure-") for attributes in page.all("figure")}
    assert drawn == kinds
    assert len(page.all("figcaption")) == len(drawn)
    assert len(page.all("svg")) == len(drawn)


def test_hidden_people_are_nowhere(named_rows, without_figures):
    rows = [replace(row, people=replace(row.people, trials=(5,) * 20)) for row in named_rows]
    shown, hidden = (to_html(ReportInputs(rows), ReportOptions(hide=hide)) for hide in (False, True))
    names = {name for row in rows for name in row.people.speaker}
    assert len(names) == 20
    assert all(name in shown for name in names)
    assert not [name for name in names if name in hidden]
    assert "person 1" in hidden


@pytest.fixture(scope="module")
def named_rows(search):
    return [search(2.0, name="Quixotic", system="s"), search(1.0, seed=2, name="Quixotic", system="t")]


def test_one_person_has_one_number_in_all_rows(named_rows):
    from zeroevidence.report.page import hidden

    rows = hidden(named_rows)
    given = [dict(zip(a.people.speaker, b.people.speaker, strict=True)) for a, b in zip(named_rows, rows, strict=True)]
    assert given[0] == given[1]
    assert rows[0].people.speaker[0] == "person 1"  # the most exposed
    assert rows[0].trials is None


def test_cards_of_an_audit(audit_rows, without_figures):
    cards = [{"name": f"attacker {i} (x)", "objective": f"aim {i}", "backend": "plda"} for i in range(4)]
    text = to_html(ReportInputs(audit_rows, cards))
    assert "The attacker that counts: attacker 3 (x)" in text
    assert "aim 3" in text
    table = text[text.index('<table id="cards"') : text.index('id="numbers"')]
    names = re.findall('<th scope="row">([^<]*)</th>', table)
    assert names == ["unprotected", "random", "ignorant", "lazy-informed"]


def test_rows_of_any_kind_render(without_figures):
    new = {"something_new": MeasureResult(1.5, "bit"), "parts": MeasureResult({"a": 1.0}, "bit")}
    rows = [
        ze.Evaluation(new, {"target": 3}, Setup(recorded="ZE|x")),
        ze.Evaluation({"tag": MeasureResult("C", "category")}, labels={"protector": "flow", "attribute": "sex"}),
        ze.Evaluation({"tag": MeasureResult("B", "category")}, about=ze.About("attribute", attribute="sex")),
    ]
    for part in (rows, rows[:1], rows[1:]):
        page = Page(to_html(ReportInputs(part)))
        assert page.faults == []


def test_infinite_and_missing_values_render():
    row = ze.evaluate(ze.Scores([-np.inf, 1.0, 2.0], [0.0, 0.5]), options=ze.Options(intervals=0, null=0))
    assert Page(to_html(ReportInputs([row]))).faults == []


def test_nothing_to_report():
    with pytest.raises(UsageError, match="at least one result"):
        to_html(ReportInputs())


@pytest.fixture(scope="module")
def comparisons(search):
    options = ze.Options(intervals=50, null=0)
    rows = [search(shift, system=name, options=options) for name, shift in (("weak", 2.5), ("good", 0.2))]
    return compare(rows, ["d_ece", "eer"])


def test_comparison_comes_back_from_json(comparisons):
    text = render_comparisons(comparisons, "json")
    assert comparisons_from_json(text) == list(comparisons)
    with pytest.raises(ze.errors.InputError, match="expected a comparison with schema"):
        comparisons_from_json("{}")
    with pytest.raises(ze.errors.InputError, match=r"comparisons\[0\]"):
        comparisons_from_json(text.replace('"ranking"', '"rank"'))


@pytest.mark.parametrize(
    "damage", [{"ranking": []}, {"signature": 5}, {"ranking": [{"system": 3}]}, {"pairs": [{"first": "nobody"}]}]
)
def test_a_damaged_comparison_is_refused(comparisons, damage):
    document = json.loads(render_comparisons(comparisons, "json"))
    for name, value in damage.items():
        one = document["comparisons"][0]
        one[name] = [{**one[name][0], **entry} for entry in value] if isinstance(value, list) else value
    with pytest.raises(ze.errors.InputError, match=r"comparisons\[0\]"):
        comparisons_from_json(json.dumps(document))


def test_every_protection_has_its_map(pairs, only_figure):
    only_figure("map")
    quick = ze.Options(intervals=0, null=0)
    points = Points((0.0, 1.0), (1.0, 0.0), ("n", "s"))
    rows = []
    for name, shifts in (("unprotected", (4.0, 2.0)), ("mine", (1.0, 0.5)), ("other", (0.5, 2.0))):
        for of_class, shift in zip("ns", shifts, strict=True):
            role = "control" if name == "unprotected" else "attack"
            about = ze.About("attribute", role, attribute="accent", of_class=of_class)
            row = pairs(shift, system=name, attacker="logistic", about=about, options=quick)
            rows.append(replace(row, maps={"vectors": points} if shift == max(shifts) else {}))
    page = to_html(ReportInputs(rows))
    assert "Protected recordings may still give away accent" in page
    assert "The people most at risk" not in page
    figure = page[page.index('<figure id="figure-map"') :]
    figure = figure[: figure.index("</figure>")]
    for name in ("unprotected", "mine", "other"):
        assert name in figure


def test_systems_of_one_name_in_two_results_are_told_apart(run, audit_rows, tmp_path):
    attack = audit_rows[3]
    better = attack.with_metrics({"alid": replace(attack.metrics["alid"], value=0.0, low=None, high=None)})
    for name, row in (("ours", attack), ("theirs", better), ("again", attack)):
        (tmp_path / f"{name}.json").write_text(to_json([*audit_rows[:2], row]))
    paths = {name: str(tmp_path / f"{name}.json") for name in ("ours", "theirs", "again")}
    for others, systems in ((["theirs"], {"ours", "theirs"}), (["again"], {attack.labels["system"]})):
        material = ReportInputs()
        material.add_results([paths["ours"], *map(paths.get, others)], ["ours", *others])
        assert {row.labels["system"] for row in material.rows if row.about.role == "attack"} == systems
    out, _ = run.well("evaluate", paths["ours"], paths["theirs"], "-f", "csv")
    systems = {line.split(",")[0] for line in out.splitlines()[1:]}
    assert systems - {row.labels["system"] for row in audit_rows[:2]} == {"ours", "theirs"}


def test_what_two_results_have_in_common_is_shown_once(audit_rows, tmp_path):
    for name, part in (("a", audit_rows[:3]), ("b", [*audit_rows[:2], audit_rows[3]])):
        (tmp_path / f"{name}.json").write_text(to_json(part))
    material = ReportInputs()
    material.add_results([str(tmp_path / f"{name}.json") for name in "ab"], ["a", "b"])
    names = [row.about.threat.name for row in material.rows]
    assert names == ["unprotected", "random", "ignorant", "lazy-informed"]
    assert len(material.cards) == 4
