"""The report as a browser shows it."""

import re
import zlib

import pytest
from playwright.sync_api import expect

EVIL = "<script>alert(1)</script>"


def cells(page, table, number):
    return page.locator(f"#{table} tbody tr:visible > :nth-child({number})")


def column(page, table, number):
    return cells(page, table, number).all_inner_texts()


def test_it_renders_and_asks_for_nothing(report, visit):
    page, seen = visit(report)
    assert page.locator("h1").inner_text().startswith("How much do recordings give away?")
    page.locator("#verdict p").first.wait_for()
    assert page.locator("figure svg").count() > 10
    assert all(box["height"] > 50 for box in (svg.bounding_box() for svg in page.locator("figure svg").all()))
    page.wait_for_timeout(200)
    assert seen["errors"] == []
    assert seen["requests"] == [f"file://{report}"]


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


def test_a_link_to_a_part_opens_it(report, visit):
    page, _ = visit(f"file://{report}#people", unfold=False)
    expect(page.locator("#people-table")).to_be_visible()
    assert page.locator("#figures figure").first.is_hidden()


def test_a_hostile_name_stays_text(report, visit):
    page, seen = visit(report)
    assert EVIL in page.locator("#people").inner_text()
    assert EVIL in page.locator("h1").inner_text()
    assert page.locator("script").count() == 2
    page.locator("#people input[type=search]").fill("script good")
    expect(cells(page, "people-table", 1)).to_have_text([EVIL])
    assert seen["dialogs"] == []
    assert seen["errors"] == []


def test_tables_sort_both_ways(report, visit):
    page, _ = visit(report)
    button = page.locator("#people-table th button", has_text="mean [bit]")
    button.click()
    page.locator("#people-table th[aria-sort=descending]").wait_for()
    down = [float(value) for value in column(page, "people-table", 6)]
    assert down == sorted(down, reverse=True)
    assert page.locator("#people-table th[aria-sort]").count() == 1
    button.click()
    page.locator("#people-table th[aria-sort=ascending]").wait_for()
    up = [float(value) for value in column(page, "people-table", 6)]
    assert up == sorted(up)
    assert len(up) == 32
    page.locator("#people-table th button", has_text="system").click()
    expect(cells(page, "people-table", 2).first).to_have_text("good")


def test_tables_sort_by_the_keyboard(report, visit):
    page, seen = visit(report, viewport={"width": 1200, "height": 900})
    tables = page.locator("table.data")
    assert tables.count() >= 3
    assert page.locator("table.data thead th").count() == page.locator("table.data thead th > button").count()
    place = 1 + page.locator("#all-rows thead th").all_inner_texts().index("system")
    for key, order, systems in (
        ("Enter", "ascending", ["good", f"weak {EVIL}"]),
        ("Space", "descending", [f"weak {EVIL}", "good"]),
    ):
        page.locator("#all-rows th button", has_text="system").focus()
        page.keyboard.press(key)
        expect(cells(page, "all-rows", place)).to_have_text(systems)
        expect(page.locator("#all-rows th[aria-sort]")).to_have_attribute("aria-sort", order)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#all-rows th[aria-sort]")).not_to_contain_text("system")
    assert seen["errors"] == []


def test_tables_filter(report, visit):
    page, _ = visit(report)
    box = page.get_by_label("Filter people")
    box.fill("p03 good")
    expect(cells(page, "people-table", 1)).to_have_text(["p03"])
    expect(page.locator("#people .filter")).to_contain_text("1 of 32 shown")
    box.fill("")
    expect(cells(page, "people-table", 1)).to_have_count(32)


def test_curves_are_read_off_by_pointer(report, visit):
    page, seen = visit(report)
    plot = page.locator("#figure-cmc .plot")
    plot.scroll_into_view_if_needed()
    box = page.locator("#figure-cmc svg").bounding_box()
    out = page.locator("#figure-cmc .readout")
    assert out.inner_text() == ""
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.3)
    expect(out).to_contain_text("rank")
    first = out.inner_text()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.3)
    expect(out).not_to_have_text(first)
    assert page.locator("#figure-cmc svg circle").count() >= 2
    page.mouse.move(0, 0)
    expect(out).to_have_text("")
    assert seen["errors"] == []


def test_curves_are_read_off_by_keyboard(report, visit):
    page, _ = visit(report)
    plot = page.locator("#figure-cmc .plot")
    plot.focus()
    page.keyboard.press("Home")
    out = page.locator("#figure-cmc .readout")
    expect(out).to_contain_text("rank: 1 ")
    page.keyboard.press("ArrowRight")
    expect(out).to_contain_text("rank: 2 ")
    page.keyboard.press("End")
    expect(out).to_contain_text("rank: 16 ")
    expect(out).to_contain_text("100")
    page.keyboard.press("Escape")
    expect(out).to_have_text("")


def ground(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


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


@pytest.mark.parametrize("width", [400, 1600])
def test_no_sideways_scrolling_of_the_page(report, visit, width):
    page, _ = visit(report, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 400:  # and nothing has to be scrolled within the page
        wider = "all => all.filter(one => one.getBoundingClientRect().right > 400).map(one => one.tagName)"
        assert page.locator("main *:visible").evaluate_all(wider) == []


def test_print_begins_with_a_page_of_its_own_and_fits_the_paper(report, visit):
    page, _ = visit(report, viewport={"width": 680, "height": 1000})  # A4 without its margins, at 96 dots per inch
    assert page.locator(".on-paper").is_hidden()
    page.emulate_media(media="print")
    summary = page.locator(".on-paper")
    assert summary.is_visible()
    assert summary.evaluate("one => getComputedStyle(one).breakAfter") == "page"
    assert page.evaluate("document.querySelector('.on-paper').getBoundingClientRect().bottom") < 1000
    assert page.locator(".on-paper tbody tr").count() >= 3
    # The wide table is on pages across; everything else fits.
    page.evaluate("document.querySelector('#rows').remove()")
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    columns = page.locator(".figures").evaluate("one => getComputedStyle(one).gridTemplateColumns")
    assert len(columns.split()) == 2


def test_print_has_no_blank_pages(report, visit):
    page, _ = visit(report)
    objects = dict(re.findall(rb"(\d+) 0 obj(.*?)endobj", page.pdf(prefer_css_page_size=True), re.DOTALL))
    contents = [
        objects[re.search(rb"/Contents (\d+) 0 R", text)[1]] for text in objects.values() if b"/Type /Page\n" in text
    ]
    assert len(contents) > 3
    for content in contents:
        drawn = zlib.decompress(re.search(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)[1])
        assert drawn.count(b" Tj") + drawn.count(b"TJ") > 10


def test_the_table_of_all_results_fits_a_page_across(report, visit):
    page, _ = visit(report, viewport={"width": 1030, "height": 700})
    page.emulate_media(media="print")
    right = page.evaluate("document.querySelector('#all-rows').getBoundingClientRect().right")
    assert right <= 1030
    cells = page.locator("#all-rows tbody tr:first-child > *").evaluate_all(
        "all => all.map(one => [one.getBoundingClientRect().width, one.textContent.trim().length])"
    )
    assert all(width > 12 for width, letters in cells if letters > 1)  # no column of single letters


def test_print_shows_everything_and_no_controls(report, visit):
    page, _ = visit(report)
    page.get_by_label("Filter people").fill("p03")
    figures = page.locator("figure").count()
    page.emulate_media(media="print")
    expect(page.locator("figure svg:visible")).to_have_count(figures)
    assert page.locator("section:visible").count() == page.locator("section").count()
    assert page.locator("#people-table tbody tr:visible").count() == 32
    assert page.locator(".theme:visible, .filter:visible, nav:visible, .readout:visible").count() == 0
    assert page.locator("figure").first.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
    assert len(page.pdf(format="A4")) > 10_000


def test_everything_is_there_without_a_script(report, visit):
    page, seen = visit(report, java_script_enabled=False)
    assert page.locator("#people-table tbody tr:visible").count() == 32
    assert page.locator("figure svg:visible").count() > 10
    assert page.locator("figcaption:visible").count() == page.locator("figure").count()
    assert page.locator("button:visible").count() == 0
    assert seen["errors"] == []


def test_landmarks_headers_and_names(report, visit):
    page, _ = visit(report)
    for role in ("banner", "main", "navigation", "contentinfo"):
        assert page.get_by_role(role).count() == 1, role
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("h1").count() == 1


_CONTRAST = """() => {
  const parse = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => sum + w * linear(c[i] / 255), 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const ratio = (e) => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  return [...document.querySelectorAll("p, li, th, td, h1, h2, h3, figcaption, small, .meaning, .eyebrow, button, a")]
    .filter((e) => e.offsetParent && e.textContent.trim() && ratio(e) < 4.5)
    .map((e) => [ratio(e), e.className || e.tagName]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(report, visit, scheme):
    page, _ = visit(report, color_scheme=scheme)
    assert page.evaluate(_CONTRAST) == []
