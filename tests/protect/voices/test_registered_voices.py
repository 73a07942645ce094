"""The registry of voice protectors: names that can be read, listed in the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import McAdams, load_protector
from zeroevidence.protect.voices import VOICE_PROTECTORS, Spelling, register_voice, spelling_help

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


@pytest.fixture
def remove_gentle():
    yield
    VOICE_PROTECTORS.remove("gentle")


def test_a_voice_protector_of_your_own_is_loaded_by_name(remove_gentle):
    @register_voice("gentle", "Moves resonances a little.", Spelling("gentle", "coefficient 0.95"))
    def gentle(text, seed):
        if text == "missing":
            raise InputError("no such file", path=text)
        if text:
            raise ValueError(text)
        return McAdams(0.95)

    assert load_protector("gentle") == McAdams(0.95)
    with pytest.raises(UsageError, match=r"unknown voice protector 'gentle:3'.*gentle \(coefficient 0\.95\)"):
        load_protector("gentle:3")
    with pytest.raises(InputError, match="missing: no such file"):
        load_protector("gentle:missing")
