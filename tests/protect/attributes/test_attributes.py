"""The registry of attribute protectors: listed without torch, documented, and offered by the command line."""

import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tests.programs import modules_after
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.protect import LinearNuller, make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, register_protector

PAGE = Path(__file__).resolve().parents[3] / "docs" / "attribute-protectors.md"


def test_protectors_are_listed_without_torch():
    listing = "from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS as P; list(P.values())"
    assert "torch" not in modules_after(listing)


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_facts_of_attribute_protectors(name):
    kind = ATTRIBUTE_PROTECTORS.find(name)
    assert (kind.name, kind.cls.kind) == (name, name)
    assert kind.description.endswith(".")
    assert kind.seeded == hasattr(kind.cls(), "random_state")
    assert "speakers" in kind.fit_options
    assert f"| `{name}` | `{kind.cls.__name__}` |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["adversarial", "flow"])
def test_a_missing_part_is_named(name, monkeypatch):
    kind = ATTRIBUTE_PROTECTORS.find(name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=rf"{kind.cls.__name__} needs .*zeroevidence\[{kind.extra}\]"):
        kind.cls().fit(np.eye(6), list("ababab"))


def test_presets_and_keywords():
    assert make_protector("linear", {"shrinkage": 0.5}, shrinkage=0.1).shrinkage == 0.1
    paper = make_protector("flow", preset="paper", random_state=3)
    assert paper.get_params() == type(paper).paper(random_state=3).get_params()
    with pytest.raises(UsageError, match=r"flow has no preset 'poster'; it has paper"):
        make_protector("flow", preset="poster")


def test_a_class_of_your_own_is_made_by_name_and_takes_nobody_elses():
    with pytest.raises(UsageError, match="already a protector called 'linear'"):

        @register_protector("Another.")
        class Other(LinearNuller):
            kind: ClassVar[str] = "linear"

    def enter():
        @register_protector("Entered again, as by a cell of a notebook.")
        class Again(LinearNuller):
            kind: ClassVar[str] = "again"

    try:
        enter()
        enter()
        assert type(make_protector("again", shrinkage=0.5)).__name__ == "Again"
    finally:
        ATTRIBUTE_PROTECTORS.remove("again")
