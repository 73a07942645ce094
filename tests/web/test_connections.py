"""Connections that never send a request, or never take an answer, do not keep others from the page."""

import contextlib
import os
import re
import resource
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("jinja2")

from benchmarks.slow_connections import HALF, Strangers, page_time
from zeroevidence.web.connections import BriefErrors

SERVER = """
import zeroevidence.web.connections as connections
from zeroevidence.web.serving import serve
{settings}
try:
    serve(0, ready=lambda address: print(address, flush=True))
except KeyboardInterrupt:
    pass
"""
PATIENCE = 300.0  # seconds: ends what hangs


@contextlib.contextmanager
def serving(home, *, files=256, **limits):
    """A server that may open so many files, with limits of its own; yields its port and its messages so far."""
    settings = "".join(f"connections.{name} = {value}\n" for name, value in limits.items())
    with (home / "stderr").open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER.format(settings=settings)],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            env={**os.environ, "TMPDIR": str(home)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )
    try:
        yield int(re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())[1])
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        process.stdout.close()


def messages(home):
    return (home / "stderr").read_text()


def ask_for_ever(connection):
    """Ask for page after page, and read none."""
    while True:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


def is_cut(connection):
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        return True
    return True  # else it would wait until its time is over, which is an error


def test_three_hundred_unfinished_headers_do_not_block_the_page(tmp_path):
    with serving(tmp_path) as port:
        strangers = Strangers(port)
        for _ in range(3):
            strangers.come(300)
            assert page_time(port, PATIENCE) < PATIENCE
        assert strangers.cut > 300
        strangers.leave()
    assert messages(tmp_path) == ""


def test_without_file_handles_one_line_says_so(tmp_path):
    with serving(tmp_path, files=48) as port:
        strangers = Strangers(port)
        strangers.come(100)
        deadline = time.monotonic() + PATIENCE
        while "Too many open files" not in messages(tmp_path):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(2.5)  # it tries again every second
        strangers.leave()
        assert page_time(port, PATIENCE) < PATIENCE
    assert messages(tmp_path).count("Too many open files") == 1
    assert "Traceback" not in messages(tmp_path)


def test_headers_must_come_in_time(tmp_path):
    with serving(tmp_path, HEADERS_TIME=0.5) as port:
        for sent in (HALF, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + HALF):  # after an answer as before it
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stranger:
                stranger.sendall(sent)
                assert is_cut(stranger)
        assert page_time(port, PATIENCE) < PATIENCE


def test_a_body_after_the_answer_must_come_in_time(tmp_path):
    with serving(tmp_path, HEADERS_TIME=0.5) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sender:
            sender.sendall(b"POST /upload/guess HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nx")
            assert is_cut(sender)
        assert page_time(port, PATIENCE) < PATIENCE


def test_answers_must_be_taken(tmp_path):
    with serving(tmp_path, ANSWER_TIME=0.5) as port:
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(PATIENCE)
            reader.connect(("127.0.0.1", port))
            with pytest.raises(ConnectionError):
                ask_for_ever(reader)
        assert page_time(port, PATIENCE) < PATIENCE


def test_an_error_is_logged_once_for_each_kind(caplog):
    report = BriefErrors()
    for error in (OSError(24, "Too many open files"), OSError(24, "Too many open files"), ValueError("x")):
        report(None, {"message": "accept", "exception": error})
    assert [record.getMessage() for record in caplog.records] == [
        "accept: Too many open files; this is said once",
        "accept: ValueError; this is said once",
    ]
