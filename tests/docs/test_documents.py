"""Every block of the tutorials, the pages of the measures and the other pages with commands or Python is run."""

from pathlib import Path

import pytest

from tests.effort import slow

ROOT = Path(__file__).resolve().parents[2]
NAMED = ("attribute-protectors", "cues", "forensic-use", "index", "python", "quoting", "figures", "report", "trust")
PATTERNS = ("tutorials/*.md", "measures/*.md", *(f"{name}.md" for name in NAMED))
PAGES = sorted(str(path.relative_to(ROOT)) for pattern in PATTERNS for path in (ROOT / "docs").glob(pattern))
# Pages that train networks, audit, draw many figures or make reports.
SLOW = {"docs/attribute-protectors.md", "docs/figures.md", "docs/report.md", "docs/trust.md"}
SLOW |= {"docs/tutorials/auditor.md", "docs/tutorials/researcher.md"}


def test_slow_pages_are_pages():
    assert set(PAGES) >= SLOW


@pytest.mark.parametrize("path", [pytest.param(path, marks=slow) if path in SLOW else path for path in PAGES])
def test_page(page, path):
    page(path).run()
