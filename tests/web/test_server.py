"""The running server on the loopback address: strangers, giants, slow senders, many at once, a kill and a restart."""

import asyncio
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("jinja2")

from zeroevidence.web.guard import Body, TooSlow
from zeroevidence.web.work.process import MOST_MEMORY
from zeroevidence.web.work.request import JobRequest, Upload

SCORES = "a u1 2.0\na u2 -1.0\nb u1 -0.5\nb u2 1.5\n"
BOUNDARY = "b0undary"


def start(home):
    command = [sys.executable, "-m", "zeroevidence", "serve", "--port", "0", "--max-megabytes", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(home)})
    address = re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
    return process, int(address[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("serving")
    process, port = start(home)
    yield port, home
    process.terminate()
    process.wait(timeout=300)
    process.stderr.close()
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


def test_other_hosts_and_pages_are_refused(server):
    port, _ = server
    assert ask(port, "GET", "/", Host="evil.example")[0] == 403
    place = action(port)
    assert upload(port, place, Origin="http://evil.example")[0] == 403
    assert upload(port, place, Sec_Fetch_Site="cross-site")[0] == 403
    assert upload(port, "/upload/guess")[0] == 403


@pytest.mark.parametrize(
    "path",
    ["/../etc/passwd", "/job/../../etc/passwd", "/job/%2e%2e%2f%2e%2e%2fetc%2fpasswd/report", "/static/x", "//x"],
)
def test_paths_lead_nowhere(server, path):
    assert ask(server[0], "GET", path)[0] == 404


def test_the_page_loads_and_runs_nothing_of_others(server):
    _, headers, _ = ask(server[0], "GET", "/")
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_giants_are_refused(server):
    port, home = server
    (inside,) = home.glob("zeroevidence-serve-*")
    before = set(inside.iterdir())
    assert upload(port, action(port), "x" * 1_300_000)[0] == 413
    assert set(inside.iterdir()) <= before


def test_fifty_at_once(tmp_path):
    process, port = start(tmp_path)  # a server of its own, so that no other test waits for these jobs
    try:
        place = action(port)
        with ThreadPoolExecutor(50) as pool:
            codes = list(pool.map(lambda _: upload(port, place)[0], range(50)))
        assert set(codes) <= {303, 503}
        assert codes.count(303) >= 1
        assert ask(port, "GET", "/")[0] == 200
    finally:
        process.terminate()
        process.wait(timeout=300)
        process.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_job_ids_are_long_and_different(server):
    port, _ = server
    status, headers, _ = upload(port, action(port))
    assert status == 303
    token = headers["location"].removeprefix("/job/")
    assert len(token) >= 32
    assert ask(port, "GET", f"/job/{token[:-1]}{'y' if token.endswith('x') else 'x'}")[0] == 404


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
    first, port = start(tmp_path)
    upload(port, action(port))
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stderr.close()
    assert list(tmp_path.glob("zeroevidence-serve-*"))
    second, port = start(tmp_path)
    try:
        assert len(list(tmp_path.glob("zeroevidence-serve-*"))) == 1
        third, _ = start(tmp_path)  # a second page at the same time leaves the first one alone
        third.terminate()
        third.wait(timeout=300)
        third.stderr.close()
        assert upload(port, action(port))[0] == 303
    finally:
        second.terminate()
        second.wait(timeout=300)
        second.stderr.close()
    assert list(tmp_path.iterdir()) == []


def parts(pause, count):
    sent = 0

    async def receive():
        nonlocal sent
        await asyncio.sleep(pause)
        sent += 1
        return {"type": "http.request", "body": b"x", "more_body": sent < count}

    return receive


async def read(body):
    while (await body.receive())["more_body"]:
        pass


def finished(task):
    """The result of a task, in a thread of its own: a browser of other tests may run a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, task).result()


def test_a_slow_upload_is_cut():
    with pytest.raises(TooSlow):  # nothing comes
        finished(read(Body(parts(600.0, 2), 100, patience=0.1)))
    with pytest.raises(TooSlow):  # a byte now and then
        finished(read(Body(parts(0.02, 100), 1000, patience=0.1, least_rate=1000.0)))
    finished(read(Body(parts(0.0, 100), 1000, patience=300.0)))


def test_a_slow_upload_that_is_not_wanted_is_cut_too():
    start = time.monotonic()
    finished(Body(parts(600.0, 2), 100, patience=0.1).drain())
    finished(Body(parts(0.02, 30_000), 100_000, patience=0.1, least_rate=1000.0).drain())
    assert time.monotonic() - start < 300.0


def test_a_job_that_wants_more_memory_ends_without_a_report(tmp_path):
    lines = "".join(f"p{i % 100} u{i // 100} {i % 7} {'target' if i % 3 else 'nontarget'}\n" for i in range(2_000))
    (tmp_path / "0.upload").write_text(lines)
    request = JobRequest((Upload(str(tmp_path / "0.upload"), "scores.txt"),))
    (tmp_path / "request.json").write_text(request.to_json())
    words = "import sys; import zeroevidence.web.work.process as work; work.MOST_MEMORY = int(sys.argv[2]); "
    words += "sys.exit(work.main(sys.argv[1]))"
    ended = []
    for limit in (MOST_MEMORY, 300 << 20):
        command = [sys.executable, "-P", "-c", words, tmp_path, str(limit)]
        # the job ends when its standard input does, so that this stays open
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as job:
            ended.append((job.wait(600) == 0, (tmp_path / "report.html").exists()))
        (tmp_path / "report.html").unlink(missing_ok=True)
    assert ended == [(True, True), (False, False)]


def test_a_job_has_a_limit_of_memory():
    words = "import resource; from zeroevidence.web.work.process import _limit_memory; _limit_memory(); "
    words += "print(resource.getrlimit(resource.RLIMIT_AS)[0])"
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout
    assert int(told) == MOST_MEMORY
