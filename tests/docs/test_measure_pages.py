"""A page for every measure, which says the same as the catalogue."""

import re
from pathlib import Path
from typing import get_args

import pytest

from zeroevidence.measure.measures import MEASURES, Family

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "measures"
OVERVIEWS = {"index", *get_args(Family)}
SECTIONS = ["Definition", "Reading", "Pitfalls", "How to get it", "Reference"]
DIRECTIONS = {"up": "higher discloses more", "down": "lower discloses more", "none": "no direction"}


def direction(entry):
    if entry.family == "utility":
        return {"up": "higher is more useful", "down": "lower is more useful"}[entry.better]
    return "higher is worse" if entry.family == "tandem" else DIRECTIONS[entry.discloses]


def test_every_measure_has_a_page_and_every_page_a_measure():
    assert {path.stem for path in FOLDER.glob("*.md")} - OVERVIEWS == set(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
def test_page_agrees_with_the_catalogue(name):
    text, entry = (FOLDER / f"{name}.md").read_text(encoding="utf-8"), MEASURES[name]
    title = text.splitlines()[0]
    assert title.lower() == f"# {entry.title}".lower()
    assert f"`{name}`: {entry.meaning}" in text
    cells = (entry.family, entry.unit, entry.range, direction(entry), ", ".join(entry.references))
    assert f"| {' | '.join(cells)} |" in text
    assert re.findall(r"^## (.+)$", text, re.M) == SECTIONS
    *_, last = text.split("## Reference")
    assert re.findall(r"\(`(\w+)`\)$", last, re.M) == list(entry.references)
    assert f"zeroevidence cite {name}" in last
    assert text.count("```python") >= 1
    assert ("`--estimate`" in text) == entry.estimated


@pytest.mark.parametrize("family", get_args(Family))
def test_tables_and_contents_come_from_the_registry(family):
    """The build fills these places, so that a new measure is no line in any other page."""
    assert f"<!-- table of {family} -->" in (FOLDER / "index.md").read_text(encoding="utf-8")
    assert f"<!-- pages of {family} -->" in (FOLDER / f"{family}.md").read_text(encoding="utf-8")
