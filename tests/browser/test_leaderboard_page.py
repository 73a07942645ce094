"""The page of several systems as a browser shows it."""

from playwright.sync_api import expect

import zeroevidence as ze
from zeroevidence.report.html.leaderboard import leaderboard_page


def test_it_sorts_by_the_keyboard_and_asks_for_nothing(tmp_path, visit):
    scores = {"a": [1.0, 3.0], "b": [2.0, 3.0], "c": [0.5, 1.0]}
    rows = [
        ze.evaluate(target, [0.0, 1.5], labels={"system": name}, intervals=0, null=0) for name, target in scores.items()
    ]
    path = tmp_path / "page.html"
    path.write_text(leaderboard_page(rows), encoding="utf-8")
    page, seen = visit(path, viewport={"width": 400, "height": 900})
    systems = page.locator("#board tbody th")
    least_first = systems.all_inner_texts()
    heading = page.locator("#board th button", has_text="system")
    heading.focus()
    page.keyboard.press("Enter")
    expect(systems).to_have_text(["a", "b", "c"])
    page.keyboard.press("Enter")
    expect(systems).to_have_text(["c", "b", "a"])
    page.locator("#board th button", has_text="on one scale").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#board th[aria-sort]")).to_have_count(1)
    expect(systems).to_have_text(least_first)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert seen["errors"] == []
    assert seen["requests"] == [f"file://{path}"]
