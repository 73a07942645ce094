"""Figures that other processes draw are those that this one draws, whatever becomes of the others."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator

import pytest

from zeroevidence import Options, evaluate
from zeroevidence.errors import InputError
from zeroevidence.report.figures import Each, figure_processes
from zeroevidence.report.inputs import ReportInputs, ReportOptions
from zeroevidence.report.page import to_html

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


def _where(number: int) -> tuple[int, int]:
    return number, os.getpid()


def _ends_elsewhere(number: int) -> int:
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return number + 1


def _refuses(number: int) -> int:
    if number == 2:
        raise InputError("two is one too many", path="numbers")
    return number


@pytest.fixture(scope="module")
def each() -> Iterator[Each]:
    with figure_processes(2) as each:
        yield each


def test_work_is_done_by_others_in_order(each: Each) -> None:
    found = list(each(_where, range(8)))
    assert [number for number, _ in found] == list(range(8))
    assert os.getpid() not in {pid for _, pid in found}


def test_errors_are_those_of_map(each: Each) -> None:
    with pytest.raises(InputError, match="one too many") as caught:
        list(each(_refuses, range(4)))
    assert caught.value.problem.path == "numbers"


def test_what_killed_processes_leave_is_done_here_and_nobody_is_left_behind() -> None:
    with figure_processes(2) as each:
        pids = {pid for _, pid in each(_where, range(4))}
        assert list(each(_ends_elsewhere, range(5))) == [1, 2, 3, 4, 5]
        assert list(each(_ends_elsewhere, range(2))) == [1, 2]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_page_is_the_same(each: Each) -> None:
    rows = [
        evaluate(
            [2.0 + shift, 3.0, 1.5, 0.2],
            [0.0, 1.0, 1.7, -0.4],
            labels={"system": name},
            options=Options(intervals=0, null=0),
        )
        for name, shift in (("one", 0.0), ("two", 0.7))
    ]
    assert to_html(ReportInputs(rows), ReportOptions(each=each)) == to_html(ReportInputs(rows))
