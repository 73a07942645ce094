"""Signals as exceptions: one for each request, whatever becomes of it on the way, and none in the middle of a step."""

import os
import signal
import threading

import pytest

from zeroevidence import errors
from zeroevidence.errors import Interrupted, check_stop, interruptible, obey, uninterrupted


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(errors, "_REPEATED", 3600.0)


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "interrupted by SIGTERM"),
        (signal.SIGHUP, 129, "interrupted by SIGHUP"),
    ],
)
def test_a_signal_is_an_exception_with_its_exit_code(number, code, words):
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught, interruptible():
        send(number)
    assert (caught.value.exit_code, str(caught.value)) == (code, words)
    assert signal.getsignal(number) == before


def test_what_libraries_make_of_it_is_an_interruption_all_the_same():
    def unhelpful():
        try:
            send(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("no such module") from None

    with pytest.raises(Interrupted, match="SIGTERM"), interruptible():
        unhelpful()
    with pytest.raises(ImportError), interruptible():
        raise ImportError


def test_the_same_request_twice_is_one():
    def work():
        try:
            send(signal.SIGTERM)
        except KeyboardInterrupt as error:
            send(signal.SIGTERM)
            error.add_note("out keeps 3 files")
            raise

    with pytest.raises(Interrupted) as caught, interruptible():
        work()
    assert str(caught.value) == "interrupted by SIGTERM; out keeps 3 files"


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            send(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_step_is_finished_first():
    steps = []

    def work():
        with uninterrupted():
            send(signal.SIGTERM)
            steps.append("done")
        steps.append("too far")

    with pytest.raises(Interrupted), interruptible():
        work()
    assert steps == ["done"]


def test_generators_that_were_left_are_closed():
    closed = []

    def numbers():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    def work():
        for _ in numbers():
            send(signal.SIGINT)

    with pytest.raises(Interrupted) as caught, interruptible():
        work()
    assert closed, caught  # though the exception is still there


def test_threads_are_told_by_an_event():
    stop, outcomes = threading.Event(), []

    def work():
        obey(stop)
        check_stop()
        outcomes.append("goes on")
        stop.set()
        try:
            check_stop()
        except KeyboardInterrupt:
            outcomes.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outcomes == ["goes on", "stopped"]
    check_stop()  # nobody told this one
