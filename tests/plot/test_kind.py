"""The registry: every kind at its place, and a new kind without a change anywhere else."""

import importlib
import sys

import pytest

import zeroevidence as ze
from zeroevidence.cli import main
from zeroevidence.errors import UsageError
from zeroevidence.plot import kinds
from zeroevidence.plot.kind import KINDS, figure

MODULE = f"{kinds.__name__}.hits"
NEW_KIND = '''
from typing import Annotated

from zeroevidence.plot.curves import has_curves
from zeroevidence.plot.kind import figure


@figure(
    "Receiver operating characteristic",
    place=135,
    needs="target and non-target scores",
    caption="How often the attacker finds a match against how often they claim a false one.",
    has=has_curves("det"),
    from_scores=True,
)
def hit_rate(rows, ax, *, thick: Annotated[float, "Width of the lines."] = 1.0):
    """Hit rate over false-alarm rate."""
    for row in rows:
        ax.plot(row.curves["det"].x, [1.0 - miss for miss in row.curves["det"].y], lw=thick)
    ax.set_xlabel("claims that are false")
'''


@pytest.fixture
def new_kind(tmp_path, monkeypatch):
    """A kind in a module of its own beside the others, which is gone after the test."""
    (tmp_path / "hits.py").write_text(NEW_KIND)
    with monkeypatch.context() as patch:
        patch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
        importlib.import_module(MODULE)
    yield "hit-rate"
    KINDS.remove("hit-rate")
    del sys.modules[MODULE], kinds.hits


def listed(capsys):
    with pytest.raises(SystemExit):
        main(["plot", "--list"])
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_a_new_kind_is_listed_and_known(new_kind, capsys):
    names = listed(capsys)
    assert names[names.index("det") : names.index("tippett") + 1] == ["det", new_kind, "tippett"]
    assert "hit_rate" in dir(ze.plot)
    assert ze.plot.hit_rate is KINDS[new_kind].function
    assert "thick\n    Width of the lines." in ze.plot.hit_rate.__doc__
    assert KINDS[new_kind].options["thick"].type is float


def test_a_new_kind_is_drawn(new_kind, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    ax = ze.plot.hit_rate([2.1, 1.7, 0.4], [0.9, 0.2, -0.3], thick=2)
    assert ax.get_lines()[0].get_linewidth() == 2
    with pytest.raises(UsageError, match="thick: expected a number, got 'very'"):
        ze.plot.hit_rate([2.1], [0.9], thick="very")
    with pytest.raises(SystemExit) as stop:
        main(["plot", new_kind, "demo", "--row", "1", "-o", str(tmp_path / "f.svg")])
    assert stop.value.code == 0, capsys.readouterr().err
    assert "claims that are false" in (tmp_path / "f.svg").read_text()


def test_places_order_the_table():
    order = [(kind.place, kind.name) for kind in KINDS.values()]
    assert order == sorted(order)
    assert len({kind.place for kind in KINDS.values()}) == len(KINDS)


def test_names_that_are_taken_are_refused():
    def enter(paint):
        return figure("t", place=1, needs="n", caption="c.", has=lambda row: True)(paint)

    def ece(rows, ax):
        """Another one."""

    def pie(rows, ax, *, width: float = 1.0):
        """Its option is one of every figure."""

    before = dict(KINDS)
    with pytest.raises(UsageError, match="already a kind of figure called 'ece'"):
        enter(ece)
    with pytest.raises(ValueError, match="an option of 'pie' cannot be called 'width'"):
        enter(pie)
    assert before == dict(KINDS)
