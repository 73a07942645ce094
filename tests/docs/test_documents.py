"""Every block of README, the tutorials, the pages of the measures, attributes, extending, figures and trust is run."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in (
        "docs/tutorials/*.md",
        "docs/measures/*.md",
        "docs/attribute-protectors.md",
        "docs/cues.md",
        "docs/extending.md",
        "docs/python.md",
        "docs/figures.md",
        "docs/report.md",
        "docs/trust.md",
    )
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("path", PAGES)
def test_page(page, path):
    page(path).run()
