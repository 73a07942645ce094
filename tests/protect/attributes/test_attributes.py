"""The registry of attribute protectors: listed without torch, documented, and offered by the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import click
import numpy as np
import pytest

from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.protect import LinearNuller, make_protector
from zeroevidence.protect.attributes import (
    ATTRIBUTE_PROTECTORS,
    AttributeProtectorKind,
    protectors_of,
    register_protector,
)

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture
def registry():
    """Entries made in a test are gone after it."""
    before = set(ATTRIBUTE_PROTECTORS)
    yield
    for name in set(ATTRIBUTE_PROTECTORS) - before:
        ATTRIBUTE_PROTECTORS.remove(name)


def modules_after(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_protectors_are_listed_without_torch():
    listing = (
        "from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS; "
        "assert all(kind.description and kind.parameters for kind in ATTRIBUTE_PROTECTORS.values())"
    )
    assert "torch" not in modules_after(listing)


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_facts_of_attribute_protectors(name):
    kind = ATTRIBUTE_PROTECTORS.find(name)
    assert (kind.name, kind.cls.kind) == (name, name)
    assert kind.description.endswith(".")
    assert "\n" not in kind.description
    assert kind.seeded == hasattr(kind.cls(), "random_state")
    assert "speakers" in kind.fit_options
    for preset, parameters in kind.presets.items():
        made = make_protector(name, preset=preset)
        assert parameters.items() <= made.get_params().items()


def test_what_needs_nothing_comes_first():
    order = tuple(ATTRIBUTE_PROTECTORS.values())
    assert {kind.name for kind in order} == set(ATTRIBUTE_PROTECTORS)
    assert order[0].name == "classmeans"
    needs = [kind.extra is not None for kind in order]
    assert needs == sorted(needs)
    assert {kind.name for kind in order if "keep" in kind.fit_options} == {"flow"}
    assert {kind.name for kind in order if "progress" in kind.fit_options} == {"adversarial", "flow"}


@pytest.mark.parametrize(
    "kind", [kind for kind in protectors_of("classes") if kind.extra is not None], ids=lambda kind: kind.name
)
def test_a_missing_part_is_named(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=rf"{kind.cls.__name__} needs .*zeroevidence\[{kind.extra}\]"):
        kind.cls().fit(np.eye(6), list("ababab"))


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_the_command_line_offers_every_attribute_protector(command):
    from zeroevidence.cli.commands.protect import command as group

    found = group.get_command(click.Context(group), command)
    (option,) = (one for one in found.params if "--protector" in one.opts)
    assert tuple(option.type.choices) == tuple(ATTRIBUTE_PROTECTORS)


def test_pages_list_every_protector():
    page = (DOCS / "attribute-protectors.md").read_text(encoding="utf-8")
    for kind in tuple(ATTRIBUTE_PROTECTORS.values()):
        assert f"| `{kind.name}` | `{kind.cls.__name__}` |" in page


def test_presets_and_keywords():
    assert make_protector("linear", {"shrinkage": 0.5}).shrinkage == 0.5
    assert make_protector("linear", {"shrinkage": 0.5}, shrinkage=0.1).shrinkage == 0.1
    paper = make_protector("flow", preset="paper", random_state=3)
    assert paper.get_params() == type(paper).paper(random_state=3).get_params()
    with pytest.raises(UsageError, match=r"linear has no preset 'paper'; it has none"):
        make_protector("linear", preset="paper")
    with pytest.raises(UsageError, match=r"flow has no preset 'poster'; it has paper"):
        make_protector("flow", preset="poster")


def test_a_class_of_your_own_is_made_by_name(registry):
    @register_protector("Halves the shrinkage.")
    class Half(LinearNuller):
        kind: ClassVar[str] = "half"

    assert "half" in ATTRIBUTE_PROTECTORS
    assert ATTRIBUTE_PROTECTORS.find("half") == AttributeProtectorKind("half", "Halves the shrinkage.", Half)
    assert type(make_protector("half", shrinkage=0.5)) is Half


def test_two_classes_cannot_share_a_name(registry):
    for taken in ("linear", "flow"):
        with pytest.raises(UsageError, match=f"already a protector called '{taken}'"):

            @register_protector("Another.")
            class Other(LinearNuller):
                kind: ClassVar[str] = taken

    def enter():
        @register_protector("Entered again, as by a cell of a notebook.")
        class Again(LinearNuller):
            kind: ClassVar[str] = "again"

    enter()
    enter()
    assert "again" in ATTRIBUTE_PROTECTORS
