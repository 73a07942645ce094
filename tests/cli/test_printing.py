"""Progress: a line of the terminal, and a line a minute elsewhere."""

import sys

import pytest

from zeroevidence.cli import printing


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [0.0]
    monkeypatch.setattr(printing.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(printing, "_minutes", printing._Minutes())
    return now


def test_a_line_a_minute_where_there_is_no_terminal(clock, capsys):
    first, second = printing.terminal_progress("reading", "files"), printing.terminal_progress("attackers", "rows")
    for seconds, show, done in ((1, first, 1), (59, first, 2), (61, first, 3), (62, second, 1), (122, second, 2)):
        clock[0] = seconds
        show(done, 3)
    assert capsys.readouterr().err == "reading: 3 of 3 files\nattackers: 2 of 3 rows\n"


def test_a_terminal_shows_every_step_in_one_line(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show = printing.terminal_progress("reading", "files")
    show(1, 2)
    show(2, 2)
    assert capsys.readouterr().err == "\rreading: 1 of 2 files\r\rreading: 2 of 2 files\r\033[K"


@pytest.mark.parametrize(
    ("terminal", "times", "said"),
    [
        (False, [59.0, 61.0, 62.0, 122.0], "auditing speech (1 min so far)\n"),
        (True, [1.0, 2.0, 4.0, 5.0], "\rauditing speech (4 s so far)\r\r\r\033[K"),
    ],
)
def test_a_silent_command_goes_on_saying_what_it_does(clock, capsys, monkeypatch, terminal, times, said):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    ticks = iter(times)

    class Watched:
        def wait(self, _):
            clock[0] = next(ticks)
            return clock[0] == times[-1]

    minutes = printing._Minutes()
    minutes.state = "auditing speech"
    printing._watch(minutes, Watched())
    assert capsys.readouterr().err == said
