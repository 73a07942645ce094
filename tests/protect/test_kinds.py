"""The tables of protectors: names that cost nothing, facts that are true, pages and command line that agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import click
import numpy as np
import pytest

from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.protect import LinearNuller, McAdams, attributes, load_protector, make_protector, voices
from zeroevidence.protect.attributes import Kind, find, kinds, names
from zeroevidence.protect.voices import Spelling

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def table(monkeypatch):
    """Entries made in a test are gone after it."""
    find("linear")
    monkeypatch.setattr(attributes, "_KINDS", dict(attributes._KINDS))
    monkeypatch.setattr(voices, "_KINDS", voices.kinds())


def modules_after(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_names_cost_nothing_and_facts_do_not_need_torch():
    listing = "from zeroevidence.protect.attributes import names; assert 'flow' in names()"
    assert not {"numpy", "sklearn", "torch"} & modules_after(listing)
    facts = (
        "from zeroevidence.protect.attributes import kinds; assert all(k.words and k.parameters for k in kinds(None))"
    )
    assert "torch" not in modules_after(facts)
    assert not {"sklearn", "torch"} & modules_after("from zeroevidence.protect.voices import kinds; assert kinds()")


@pytest.mark.parametrize("name", names())
def test_facts_of_attribute_protectors(name):
    kind = find(name)
    assert (kind.name, kind.cls.kind) == (name, name)
    assert kind.words.endswith(".")
    assert "\n" not in kind.words
    assert kind.seeded == hasattr(kind.cls(), "random_state")
    assert "speakers" in kind.fit_options
    for preset, parameters in kind.presets.items():
        made = make_protector(name, preset=preset)
        assert parameters.items() <= made.get_params().items()


def test_what_needs_nothing_comes_first():
    order = kinds(None)
    assert {kind.name for kind in order} == set(names())
    assert order[0].name == "classmeans"
    needs = [kind.extra is not None for kind in order]
    assert needs == sorted(needs)
    assert {kind.name for kind in order if "keep" in kind.fit_options} == {"flow"}
    assert {kind.name for kind in order if "progress" in kind.fit_options} == {"adversarial", "flow"}


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.extra is not None], ids=lambda kind: kind.name)
def test_a_missing_part_is_named(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=rf"{kind.cls.__name__} needs .*zeroevidence\[{kind.extra}\]"):
        kind.cls().fit(np.eye(6), list("ababab"))


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_the_command_line_offers_every_attribute_protector(command):
    from zeroevidence.cli.commands.protect import command as group

    found = group.get_command(click.Context(group), command)
    (option,) = (one for one in found.params if "--protector" in one.opts)
    assert tuple(option.type.choices) == names()


def test_pages_list_every_protector():
    page = (DOCS / "attribute-protectors.md").read_text(encoding="utf-8")
    for kind in kinds(None):
        assert f"| `{kind.name}` | `{kind.cls.__name__}` |" in page
    page = (DOCS / "protectors.md").read_text(encoding="utf-8")
    for kind in voices.kinds().values():
        for spelling in kind.spellings:
            assert f"`{spelling.text.replace(chr(39), '')}`" in page


def test_presets_and_keywords():
    assert make_protector("linear", {"shrinkage": 0.5}).shrinkage == 0.5
    assert make_protector("linear", {"shrinkage": 0.5}, shrinkage=0.1).shrinkage == 0.1
    paper = make_protector("flow", preset="paper", random_state=3)
    assert paper.get_params() == type(paper).paper(random_state=3).get_params()
    with pytest.raises(UsageError, match=r"linear has no preset 'paper'; it has none"):
        make_protector("linear", preset="paper")
    with pytest.raises(UsageError, match=r"flow has no preset 'poster'; it has paper"):
        make_protector("flow", preset="poster")


def test_a_class_of_your_own_is_made_by_name(table):
    @attributes.protector("Halves the shrinkage.")
    class Half(LinearNuller):
        kind: ClassVar[str] = "half"

    assert "half" in names()
    assert find("half") == Kind("half", "Halves the shrinkage.", Half)
    assert type(make_protector("half", shrinkage=0.5)) is Half


def test_two_classes_cannot_share_a_name(table):
    for taken in ("linear", "flow"):
        with pytest.raises(UsageError, match=f"already a protector called '{taken}'"):

            @attributes.protector("Another.")
            class Other(LinearNuller):
                kind: ClassVar[str] = taken

    def enter():
        @attributes.protector("Entered again, as by a cell of a notebook.")
        class Again(LinearNuller):
            kind: ClassVar[str] = "again"

    enter()
    enter()
    assert "again" in names()


def test_spellings_of_voice_protectors_can_be_read():
    for name, kind in voices.kinds().items():
        assert kind.words.endswith(".")
        for spelling in kind.spellings:
            assert spelling.text.partition(":")[0] == name
            assert str(spelling) in voices.spellings()
            assert load_protector(spelling.text.replace("'", "")).fingerprint


def test_a_voice_protector_of_your_own_is_loaded_by_name(table):
    @voices.voice("gentle", "Moves resonances a little.", Spelling("gentle", "coefficient 0.95"))
    def gentle(text, seed):
        if text == "missing":
            raise InputError("no such file", path=text)
        if text:
            raise ValueError(text)
        return McAdams(0.95)

    assert load_protector("gentle") == McAdams(0.95)
    with pytest.raises(UsageError, match=r"no protector is called 'gentle:3'.*gentle \(coefficient 0\.95\)"):
        load_protector("gentle:3")
    with pytest.raises(InputError, match="missing: no such file"):
        load_protector("gentle:missing")
