"""The registry of voice protectors: names that can be read, listed in the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from zeroevidence.protect import load_protector
from zeroevidence.protect.voices import VOICE_PROTECTORS, spelling_help

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_voice_protectors_are_listed_without_scikit_learn_and_torch():
    listing = "from zeroevidence.protect.voices import VOICE_PROTECTORS; assert len(VOICE_PROTECTORS)"
    modules = subprocess.run(
        [sys.executable, "-c", f"{listing}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"sklearn", "torch"} & set(modules.stdout.split())


def test_the_page_lists_every_spelling():
    page = (DOCS / "protectors.md").read_text(encoding="utf-8")
    for kind in VOICE_PROTECTORS.values():
        for spelling in kind.spellings:
            assert f"`{spelling.text.replace(chr(39), '')}`" in page


def test_spellings_of_voice_protectors_can_be_read():
    for name, kind in VOICE_PROTECTORS.items():
        assert kind.description.endswith(".")
        for spelling in kind.spellings:
            assert spelling.text.partition(":")[0] == name
            assert str(spelling) in spelling_help()
            assert load_protector(spelling.text.replace("'", "")).fingerprint
