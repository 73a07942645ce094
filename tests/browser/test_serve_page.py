"""The page of `zeroevidence serve`, used as a person uses it."""

import http.client
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from zeroevidence.sample import sample_rows


@pytest.fixture(scope="module")
def running(serve):
    with serve("--max-megabytes", "1") as started:
        yield started


@pytest.fixture(scope="module")
def server(running):
    return running[0]


@pytest.fixture
def busy(running, visit, sample, suspended):
    """A server that works on a job until the context is left; what is uploaded meanwhile waits."""

    @contextmanager
    def occupy():
        page, _ = visit(running[0])
        send(page, sample.scores, sample.key)
        with suspended(running[1]):
            yield

    return occupy


def open_report(page):
    """Follow the link to the report, and wait until all of it is there."""
    page.get_by_role("link", name="Read the report").click()
    page.locator("#verdict").wait_for()  # else the page that is left might be the one that has been loaded
    page.wait_for_load_state("load")


@pytest.fixture(scope="module")
def sample():
    return next(row for row in sample_rows() if row.about.threat.name == "lazy-informed")


def send(page, scores, key=None):
    page.locator("#scores").set_input_files(str(scores))
    if key is not None:
        page.locator("#keys").set_input_files(str(key))
    page.get_by_role("button", name="Make the report").click()


def test_upload_progress_report(server, busy, visit, sample):
    page, seen = visit(server)
    with busy():
        send(page, sample.scores, sample.key)
        page.get_by_role("progressbar").wait_for()
    open_report(page)
    assert page.locator("figure svg").count() > 10
    page.get_by_role("button", name="Switch to dark colours").wait_for()  # its script runs under the policy
    assert seen["errors"] == []
    assert all(url.startswith(server) for url in seen["requests"])


def test_without_a_script(server, visit, sample):
    page, _ = visit(server, java_script_enabled=False)
    send(page, sample.scores, sample.key)
    open_report(page)
    assert page.locator("figure svg").count() > 10


def test_problems_by_line(server, visit, sample, tmp_path):
    bad = tmp_path / "bad<b>.scores"
    lines = Path(sample.scores).read_text().splitlines()
    bad.write_text("\n".join([*lines[:6], lines[6].rsplit(" ", 1)[0] + " oops", *lines[7:]]) + "\n")
    page, seen = visit(server)
    send(page, bad, sample.key)
    page.locator("table.problems").wait_for()
    page.wait_for_load_state("load")
    cells = page.locator("table.problems tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[:2] == ["bad<b>.scores", "7"]
    assert "oops" in cells[2]
    assert seen["errors"] == []


def test_too_large_is_said_before_it_is_sent(server, visit, tmp_path):
    large = tmp_path / "large.txt"
    large.write_bytes(b"x" * 1_100_000)
    page, seen = visit(server)
    send(page, large)
    expect(page.get_by_role("alert")).to_have_text("These files are larger than 1 MB together.")
    assert not [url for url in seen["requests"] if "upload" in url]


def test_too_large_is_refused_by_the_server(server, visit, tmp_path):
    large = tmp_path / "large.txt"
    large.write_bytes(b"x" * 1_100_000)
    page, _ = visit(server, java_script_enabled=False)
    with page.expect_response(lambda answer: "/upload/" in answer.url) as answer:
        send(page, large)
    assert answer.value.status == 413
    expect(page.locator("main")).to_contain_text("larger than 1 MB")


def fetched(address, **headers):
    host, port = address.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port))
    connection.request("GET", "/", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_foreign_host_is_refused(server):
    assert fetched(server, Host="evil.example") == 403
    assert fetched(server, Host="localhost") == 200


def test_another_page_cannot_post(server, visit, browser, tmp_path):
    """A page elsewhere that knows the address, but not the secret in it, and says where it comes from."""
    other = tmp_path / "other.html"
    other.write_text(f'<form method="post" action="{server}/upload/x"><button>go</button></form>')
    page, _ = visit(other)
    with page.expect_response(lambda answer: "/upload/" in answer.url) as answer:
        page.get_by_role("button").click()
    assert answer.value.status == 403


def test_cancel(server, busy, visit, sample):
    page, _ = visit(server)
    with busy():
        send(page, sample.scores, sample.key)
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Cancelled").wait_for()
    page.wait_for_load_state("load")
    assert page.get_by_role("link", name="Read the report").count() == 0


@pytest.mark.parametrize("width", [400, 1600])
def test_no_sideways_scrolling(server, visit, width):
    page, _ = visit(server, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_stopping_leaves_nothing(serve, tmp_path, monkeypatch, sign, asked):
    """Neither files nor a traceback, whether it was asked for a page before or is still starting."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serve() as (address, process):
        (home,) = tmp_path.glob("zeroevidence-*")
        assert home.stat().st_mode & 0o077 == 0
        if asked:
            assert fetched(address) == 200
        process.send_signal(getattr(signal, sign))
        _, err = process.communicate(timeout=600)
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in err


def test_a_port_in_use_is_a_message(server):
    port = server.rsplit(":", 1)[1]
    command = [sys.executable, "-m", "zeroevidence", "serve", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 2
    assert f"port {port} cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
