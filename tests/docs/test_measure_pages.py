"""A page for every measure, which says the same as the catalogue."""

import re
from pathlib import Path

import pytest

from zeroevidence.measure.catalogue import CATALOGUE

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "measures"
OVERVIEWS = {"index", "one-to-one", "one-to-n", "tandem", "attribute"}
SECTIONS = ["Definition", "Reading", "Pitfalls", "How to get it", "Reference"]
DIRECTIONS = {"up": "higher discloses more", "down": "lower discloses more", "none": "no direction"}


def direction(entry):
    return "higher is worse" if entry.scope == "tandem" else DIRECTIONS[entry.discloses]


def test_every_measure_has_a_page_and_every_page_a_measure():
    assert {path.stem for path in FOLDER.glob("*.md")} - OVERVIEWS == set(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_page_agrees_with_the_catalogue(name):
    text, entry = (FOLDER / f"{name}.md").read_text(encoding="utf-8"), CATALOGUE[name]
    title = text.splitlines()[0]
    assert title.lower() == f"# {entry.title}".lower()
    assert f"`{name}`: {entry.meaning}" in text
    cells = (entry.scope, entry.unit, entry.range, direction(entry), ", ".join(entry.references))
    assert f"| {' | '.join(cells)} |" in text
    assert re.findall(r"^## (.+)$", text, re.M) == SECTIONS
    *_, last = text.split("## Reference")
    assert re.findall(r"\(`(\w+)`\)$", last, re.M) == list(entry.references)
    assert f"zeroevidence cite {name}" in last
    assert text.count("```python") >= 1


@pytest.mark.parametrize("name", CATALOGUE)
def test_index_lists_it_under_its_scope(name):
    entry = CATALOGUE[name]
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    rest = entry.unit, entry.range, direction(entry)
    assert f"| [{entry.title}]({name}.md) | `{name}` | {' | '.join(rest)} |" in text
    overview = {"one-to-one": "one-to-one", "one-to-N": "one-to-n"}.get(entry.scope, entry.scope.partition(" ")[0])
    assert f"\n{name}\n" in (FOLDER / f"{overview}.md").read_text(encoding="utf-8").split("{toctree}")[1]
