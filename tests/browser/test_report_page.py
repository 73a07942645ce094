"""The report as a browser shows it."""

import re
import zlib

import pytest
from playwright.sync_api import expect

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.evaluation import Flag
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.page import to_html

EVIL = "<script>alert(1)</script>"
PEOPLE = 8


def cells(page, table, number):
    return page.locator(f"#{table} tbody tr:visible > :nth-child({number})")


def test_it_renders_answers_and_asks_for_nothing(report, visit):
    page, seen = visit(report, viewport={"width": 1200, "height": 900})
    assert page.locator("h1").inner_text().startswith("How much do recordings give away?")
    page.locator("#verdict p").first.wait_for()
    assert page.locator("figure svg").count() > 10
    assert all(box["height"] > 50 for box in (svg.bounding_box() for svg in page.locator("figure svg").all()))
    for role in ("banner", "main", "navigation", "contentinfo"):
        assert page.get_by_role(role).count() == 1, role
    assert page.locator("th:not([scope]), table:not(:has(caption)), html:not([lang=en])").count() == 0
    sort_tables(page)
    filter_people(page)
    page.wait_for_timeout(200)
    assert seen == {"errors": [], "requests": [f"file://{report}"], "dialogs": []}


def sort_tables(page):
    """Sort by the pointer and by the keyboard, both ways."""
    assert page.locator("table.data").count() >= 2
    assert page.locator("table.data thead th").count() == page.locator("table.data thead th > button").count()
    button = page.locator("#people-table th button", has_text="mean [bit]")
    for order in ("descending", "ascending"):
        button.click()
        page.locator(f"#people-table th[aria-sort={order}]").wait_for()
        means = [float(value) for value in cells(page, "people-table", 6).all_inner_texts()]
        assert means == sorted(means, reverse=order == "descending")
        assert len(means) == 2 * PEOPLE
    assert page.locator("#people-table th[aria-sort]").count() == 1
    place = 1 + page.locator("#all-rows thead th").all_inner_texts().index("system")
    for key, order, systems in (
        ("Enter", "ascending", ["good", f"weak {EVIL}"]),
        ("Space", "descending", [f"weak {EVIL}", "good"]),
    ):
        page.locator("#all-rows th button", has_text="system").focus()
        page.keyboard.press(key)
        expect(cells(page, "all-rows", place)).to_have_text(systems)
        expect(page.locator("#all-rows th[aria-sort]")).to_have_attribute("aria-sort", order)


def filter_people(page):
    """Filter by names, one of which is hostile and stays text."""
    assert EVIL in page.locator("h1").inner_text()
    assert page.locator("script").count() == 1
    box = page.get_by_label("Filter people")
    for words, person in (("script good", EVIL), ("p03 good", "p03")):
        box.fill(words)
        expect(cells(page, "people-table", 1)).to_have_text([person])
    expect(page.locator("#people .filter")).to_contain_text(f"1 of {2 * PEOPLE} shown")
    box.fill("")
    expect(cells(page, "people-table", 1)).to_have_count(2 * PEOPLE)


@slow
def test_the_first_screen_is_the_verdict_and_everything_else_folds(report, visit):
    page, seen = visit(report, unfold=False, viewport={"width": 1000, "height": 900})
    assert page.locator("#verdict .summary").is_visible()
    folded = page.locator("#verdict details.finding > p").all()
    assert folded
    assert all(part.is_hidden() for part in folded)
    bottom = page.locator("#verdict").bounding_box()
    assert bottom["y"] + bottom["height"] < 900
    titles = page.locator("main > section.folded > h2 > button")
    assert titles.count() == page.locator("main > section[id]").count() - 1
    assert page.locator("#people-table").is_hidden()
    page.locator("#people > h2 > button").click()
    expect(page.locator("#people-table")).to_be_visible()
    page.locator(".contents a[href='#figures']").click()
    page.locator("#figures figure").first.wait_for()
    page.get_by_role("button", name="Open everything").click()
    expect(page.locator("section.folded")).to_have_count(0)
    page.get_by_role("button", name="Fold everything").click()
    expect(page.locator("#people-table")).to_be_hidden()
    assert seen["errors"] == []
    page, _ = visit(f"file://{report}#people", unfold=False)  # a link to a part opens it
    expect(page.locator("#people-table")).to_be_visible()
    assert page.locator("#figures figure").first.is_hidden()


def ground(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@slow
def test_light_and_dark(report, visit):
    page, _ = visit(report, color_scheme="light")
    light = ground(page)
    page.get_by_role("button", name="Switch to dark colours").click()
    dark = ground(page)
    assert light != dark
    system, _ = visit(report, color_scheme="dark")
    assert ground(system) == dark
    system.get_by_role("button", name="Switch to light colours").click()
    assert ground(system) == light


@slow
@pytest.mark.parametrize("width", [400, 1600])
def test_no_sideways_scrolling_of_the_page(report, visit, width):
    page, _ = visit(report, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 400:  # and nothing has to be scrolled within the page
        wider = "all => all.filter(one => one.getBoundingClientRect().right > 400).map(one => one.tagName)"
        assert page.locator("main *:visible").evaluate_all(wider) == []


@slow
def test_warnings_of_many_rows_scroll_nothing_sideways(visit, tmp_path):
    plain = ze.Options(intervals=0, null=0)
    encoder = "+".join(["campplus-trained-crops"] * 9)
    row = ze.evaluate([2.0, 3.0], [0.0, 2.5], labels={"system": "a", "encoder": encoder}, options=plain)
    often = row.with_flags(Flag("often", "warning", "every other row has it"))
    (tmp_path / "page.html").write_text(to_html(ReportInputs([row, often] * 60)), encoding="utf-8")
    page, _ = visit(tmp_path / "page.html", viewport={"width": 900, "height": 900})
    assert "rows 2, 4, 6" in page.locator(".rows").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 900


@slow
def test_print_begins_with_a_page_of_its_own_and_fits_the_paper(report, visit):
    page, _ = visit(report, viewport={"width": 680, "height": 1000})  # A4 without its margins, at 96 dots per inch
    assert page.locator(".on-paper").is_hidden()
    page.get_by_label("Filter people").fill("p03")
    figures = page.locator("figure").count()
    page.emulate_media(media="print")
    expect(page.locator("figure svg:visible")).to_have_count(figures)
    assert page.locator("#people-table tbody tr:visible").count() == 2 * PEOPLE
    assert page.locator(".theme:visible, .filter:visible, nav:visible").count() == 0
    summary = page.locator(".on-paper")
    assert summary.is_visible()
    assert summary.evaluate("one => getComputedStyle(one).breakAfter") == "page"
    assert page.evaluate("document.querySelector('.on-paper').getBoundingClientRect().bottom") < 1000
    assert page.locator(".tiles li").count() == 3
    page.set_viewport_size({"width": 1030, "height": 700})  # the wide table is on pages across
    assert page.evaluate("document.querySelector('#all-rows').getBoundingClientRect().right") <= 1030
    page.set_viewport_size({"width": 680, "height": 1000})
    page.evaluate("document.querySelector('#rows').remove()")  # everything else fits
    assert page.evaluate("document.documentElement.scrollWidth") <= 680


@slow
def test_print_has_no_blank_pages(report, visit):
    page, _ = visit(report)
    objects = dict(re.findall(rb"(\d+) 0 obj(.*?)endobj", page.pdf(prefer_css_page_size=True), re.DOTALL))
    pages = [text for text in objects.values() if b"/Type /Page\n" in text]
    contents = [objects[re.search(rb"/Contents (\d+) 0 R", text)[1]] for text in pages]
    assert len(contents) > 3
    for content in contents:
        drawn = zlib.decompress(re.search(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)[1])
        assert drawn.count(b" Tj") + drawn.count(b"TJ") > 10


@slow
def test_everything_is_there_without_a_script(report, visit):
    page, seen = visit(report, java_script_enabled=False)
    assert page.locator("#people-table tbody tr:visible").count() == 2 * PEOPLE
    assert page.locator("figure svg:visible").count() > 10
    assert page.locator("figcaption:visible").count() == page.locator("figure").count()
    assert page.locator("button:visible").count() == 0
    assert seen["errors"] == []


@slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(report, visit, contrasts, scheme):
    page, _ = visit(report, color_scheme=scheme)
    assert [(text, ratio) for text, ratio in contrasts(page) if ratio < 4.5] == []
