"""The running server on the loopback address: garbage, a kill and a restart."""

import contextlib
import http.client
import os
import re
import socket
import subprocess
import sys

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("jinja2")

SCORES = "a u1 2.0\na u2 -1.0\nb u1 -0.5\nb u2 1.5\n"
BOUNDARY = "b0undary"


@contextlib.contextmanager
def serving(home, *, ended="terminate"):
    """A server of its own; yields its port."""
    command = [sys.executable, "-m", "zeroevidence", "serve", "--port", "0", "--max-megabytes", "1"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(home)}
    ) as process:
        try:
            yield int(re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())[1])
        finally:
            getattr(process, ended)()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("serving")
    with serving(home) as port:
        yield port, home
    assert list(home.iterdir()) == []  # nothing stays


def ask(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def action(port):
    return re.search(r'action="(/upload/[^"]+)"', ask(port, "GET", "/")[2])[1]


def upload(port, place, content=SCORES, **headers):
    part = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="scores"; filename="s"\r\n\r\n{content}\r\n'
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return ask(port, "POST", place, f"{part}--{BOUNDARY}--\r\n".encode(), Content_Type=kind, **headers)


def test_garbage_is_answered_or_dropped_and_the_page_goes_on(server):
    port, _ = server
    for data in (b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n", b"POST /upload/x HTTP/1.1\r\nContent-Length: -1\r\n\r\n"):
        with (
            contextlib.suppress(ConnectionError),  # it may hang up before everything is sent
            socket.create_connection(("127.0.0.1", port), timeout=300) as raw,
        ):
            raw.sendall(data)
            raw.shutdown(socket.SHUT_WR)
            raw.recv(1000)
    assert ask(port, "GET", "/")[0] == 200


def test_a_killed_server_leaves_nothing_to_the_next(tmp_path):
    with serving(tmp_path, ended="kill") as port:
        upload(port, action(port))
    assert list(tmp_path.glob("zeroevidence-serve-*"))
    with serving(tmp_path) as port:
        assert len(list(tmp_path.glob("zeroevidence-serve-*"))) == 1
        with serving(tmp_path):  # a second page at the same time leaves the first one alone
            pass
        assert upload(port, action(port))[0] == 303
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_wants_more_memory_is_refused_it():
    code = (
        "from zeroevidence.web import process; process._limit_memory()\n"
        "try:\n    bytearray(process.MOST_MEMORY)\nexcept MemoryError:\n    print('refused')"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"refused\n"
