"""The registry of voice protectors: names that can be read, listed in the documentation."""

from __future__ import annotations

from pathlib import Path

from zeroevidence.protect import load_protector
from zeroevidence.protect.voices import VOICE_PROTECTORS, spelling_help

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_spellings_of_voice_protectors_can_be_read_and_are_on_the_page():
    page = (DOCS / "protectors.md").read_text(encoding="utf-8")
    for name, kind in VOICE_PROTECTORS.items():
        assert kind.description.endswith(".")
        for spelling in kind.spellings:
            assert spelling.text.partition(":")[0] == name
            assert str(spelling) in spelling_help()
            written = spelling.text.replace("'", "")
            assert load_protector(written).fingerprint
            assert f"`{written}`" in page
