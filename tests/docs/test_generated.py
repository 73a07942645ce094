"""What pages take from the package when they are built."""

import re

import pytest

from zeroevidence.measure.measures import MEASURES

PLACES = {"measures/index.md": "measures", "public-api.md": "public names", "glossary.md": "terms"}
PLACES |= {"gallery.md": "gallery", "validity.md": "answers"}


def test_every_measure_has_a_heading_on_one_page(generated):
    pages = (path.read_text(encoding="utf-8") for path in (generated.DOCS / "measures").glob("*.md"))
    headings = [heading for page in pages for heading in re.findall(r"^## `(\w+)`\n\n\S", page, re.MULTILINE)]
    assert sorted(headings) == sorted(MEASURES)


def test_measures_are_described_by_the_registry(generated):
    for name, measure in MEASURES.items():
        text = generated.describe_measure(name)
        assert text.startswith(measure.meaning)
        assert f"{measure.unit}, {measure.range}" in text
        assert ("--estimate" in text) == measure.estimated


@pytest.mark.parametrize(("page", "name"), PLACES.items())
def test_pages_are_filled(generated, page, name):
    text = (generated.DOCS / page).read_text(encoding="utf-8")
    assert f"<!-- generated: {name} -->" in text
    assert "<!-- generated" not in generated.fill_page(page.removesuffix(".md"), text)


def test_links_to_measures_lead_to_headings(generated):
    pages = {name: f"{page}#{name}" for name, page in generated.measure_pages().items()}
    for path in generated.DOCS.rglob("*.md"):
        for page, anchor in re.findall(r"measures/([\w-]+\.md)#(\w+)\b", path.read_text(encoding="utf-8")):
            assert anchor not in pages or pages[anchor] == f"{page}#{anchor}", path


def test_the_gallery_is_small_and_shows_every_file(generated):
    files = {path.name: path.stat().st_size for path in (generated.DOCS / "gallery").iterdir()}
    assert sum(files.values()) < 1_500_000
    assert sorted(re.findall(r"gallery/([\w.-]+\.(?:svg|md))", generated.show_gallery())) == sorted(files)
