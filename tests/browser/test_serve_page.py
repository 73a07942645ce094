"""The page of `zeroevidence serve`, used as a person uses it."""

import http.client
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.effort import slow
from zeroevidence.sample import sample_rows

PATIENCE = 600.0  # seconds: a busy machine may take long for everything


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
            page.get_by_role("button", name="Cancel").click()  # nobody needs its report
            page.get_by_text("Cancelled").wait_for()

    return occupy


def open_report(page):
    """Follow the link to the report, and wait until all of it is there."""
    page.get_by_role("link", name="Read the report").click()
    page.locator("#verdict").wait_for()  # else the page that is left might be the one that has been loaded
    page.wait_for_load_state("load")


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Bundled scores of ten people, with their key."""
    row = next(row for row in sample_rows() if row.about.threat.name == "lazy-informed")
    files = {}
    for name in ("scores", "key"):
        lines = Path(getattr(row, name)).read_text().splitlines(keepends=True)
        people = sorted({line.split()[0] for line in lines})[:10]
        own = (line for line in lines if {line.split()[0], line.split()[1].partition("_")[0]} <= set(people))
        files[name] = tmp_path_factory.mktemp(name) / Path(getattr(row, name)).name
        files[name].write_text("".join(own))
    return SimpleNamespace(**files)


def send(page, scores, key=None):
    page.locator("#score-files > summary").click()
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


def test_recordings_are_anonymised_and_played(server, visit, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    (tmp_path / "talks" / "ada").mkdir(parents=True)
    soundfile.write(tmp_path / "talks" / "ada" / "a1.wav", 0.1 * np.random.default_rng(0).normal(size=8_000), 16_000)
    page, seen = visit(server)
    page.locator("#anonymise > summary").click()
    page.locator("#anonymise-original-folder").set_input_files(str(tmp_path / "talks"))
    page.get_by_label("mcadams Moves").check()
    page.get_by_role("button", name="Anonymise the recordings").click()
    page.get_by_role("heading", name="The recordings are anonymised").wait_for()
    assert page.locator("audio").count() == 2
    length = "audio => new Promise(done => { audio.onloadedmetadata = () => done(audio.duration); audio.load(); })"
    page.evaluate("document.querySelectorAll('audio').forEach(audio => { audio.preload = 'metadata'; })")
    assert page.locator("audio").last.evaluate(length) == 0.5  # under the policy of the page
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the anonymised recordings (zip)").click()
    assert download.value.suggested_filename == "anonymised.zip"
    assert seen["errors"] == []


@slow
def test_without_a_script(ended, visit):
    page, _ = visit(ended["done"], java_script_enabled=False)
    open_report(page)
    assert page.locator("figure svg").count() > 10


@slow
def test_problems_by_line(ended, visit):
    page, seen = visit(ended["problems"])
    cells = page.locator("table.problems tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[:2] == ["bad<b>.scores", "1"]
    assert "oops" in cells[2]
    assert seen["errors"] == []


def test_too_large_is_said_before_it_is_sent_and_refused_by_the_server(server, visit, tmp_path):
    large = tmp_path / "large.txt"
    large.write_bytes(b"x" * 1_100_000)
    page, seen = visit(server)
    send(page, large)
    expect(page.get_by_role("alert")).to_have_text("These files are larger than 1 MB together.")
    assert not [url for url in seen["requests"] if "upload" in url]
    page, _ = visit(server, java_script_enabled=False)
    with page.expect_response(lambda answer: "/upload/" in answer.url) as answer:
        send(page, large)
    assert answer.value.status == 413
    expect(page.locator("main")).to_contain_text("larger than 1 MB")


def fetched(address):
    """Return the status of the page."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    connection.request("GET", "/")
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.fixture(scope="module")
def ended(running, browser, sample, tmp_path_factory):
    """Addresses of pages with a verdict, with problems and after a cancel."""
    bad = tmp_path_factory.mktemp("bad") / "bad<b>.scores"
    bad.write_text("a u1 oops\n")
    addresses = {}
    context = browser.new_context()
    context.set_default_timeout(1000.0 * PATIENCE)
    for name, files in (("done", (sample.scores, sample.key)), ("problems", (bad, sample.key)), ("cancelled", (bad,))):
        page = context.new_page()
        page.goto(running[0])
        if name == "cancelled":
            page.get_by_role("button", name="Try it with sample data").click()
            page.get_by_role("button", name="Cancel").click()
        else:
            send(page, *files)
        page.get_by_role("button", name="Forget these files").wait_for()
        addresses[name] = page.url
    yield {"start": running[0], "nothing": f"{running[0]}/nothing", **addresses}
    context.close()


@slow
@pytest.mark.parametrize("width", [400, 1600])
def test_no_sideways_scrolling(ended, visit, width):
    for address in ended.values():
        page, _ = visit(address, viewport={"width": width, "height": 800})
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.name = ''; each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


@slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_message_has_contrast(ended, busy, visit, contrasts, theme):
    shown = {}
    for name, address in ended.items():
        shown[name] = contrasts(visit(address, unfold=False, color_scheme=theme)[0])
    page, _ = visit(ended["start"], unfold=False, color_scheme=theme)
    with busy():
        page.get_by_role("button", name="Try it with sample data").click()
        page.get_by_role("progressbar").wait_for()
        shown["waiting"] = contrasts(page)
        page.get_by_role("button", name="Cancel").click()
    texts = {name: " ".join(text for text, _ in seen) for name, seen in shown.items()}
    assert "a message" in texts["start"]
    assert "larger than 1 MB" in texts["start"]
    assert "oops" in texts["problems"]
    assert "Verdict" in texts["done"]
    assert "Cancelled" in texts["cancelled"]
    assert "nothing here" in texts["nothing"].lower() or "Not Found" in texts["nothing"]
    faint = [(name, text, ratio) for name, seen in shown.items() for text, ratio in seen if ratio < 4.5]
    assert faint == []


@slow
def test_the_verdict_stands_on_the_page_of_the_result(ended, visit):
    page, seen = visit(ended["done"])
    headline = page.locator(".verdict h2").inner_text()
    summary = page.locator(".verdict .summary").inner_text()
    page.get_by_text("figures as files").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Evidence profile (ECE), SVG").click()
    assert download.value.suggested_filename == "ece.svg"
    open_report(page)
    assert page.locator("#verdict h2").inner_text() == headline
    assert page.locator("#verdict .summary").inner_text() == summary
    assert seen["errors"] == []


def test_a_recording_on_the_field_of_scores_is_one_line(server, visit):
    page, seen = visit(server)
    page.locator("#score-files > summary").click()
    files = page.evaluate_handle(
        "() => { const files = new DataTransfer(); files.items.add(new File(['RIFF'], 'voice.wav')); return files; }"
    )
    page.dispatch_event("#score-files .field", "drop", {"dataTransfer": files})
    line = page.get_by_role("alert")
    expect(line).to_have_text("voice.wav is a recording. Put folders of recordings into “Recordings” above.")
    page.get_by_role("button", name="Make the report").click()
    assert not [url for url in seen["requests"] if "upload" in url]
    page.locator("#scores").set_input_files([])
    expect(line).to_have_count(0)


def test_a_folder_of_the_browser_arrives_with_its_names(server, visit, tmp_path):
    page, seen = visit(server)
    for side, name in (("original", "plain"), ("anonymised", "changed")):
        for person in ("ada", "bob"):
            file = tmp_path / name / person / f"{person}1.wav"
            file.parent.mkdir(parents=True)
            file.write_bytes(b"no sound")
        page.get_by_role("button", name="Audit the recordings").click()  # says what is missing, and sends nothing
        expect(page.get_by_role("alert")).to_have_text("Nothing is chosen here yet.")
        page.locator(f"#speech-{side}-folder").set_input_files(str(tmp_path / name))
    assert not [url for url in seen["requests"] if "upload" in url]
    page.get_by_role("button", name="Audit the recordings").click()
    page.locator("table.problems").wait_for()
    expect(page.locator("h1")).to_have_text("plain, changed")
    files = page.locator("table.problems tbody th").all_inner_texts()
    assert "plain" in files[0]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("sign", "asked"), [pytest.param("SIGINT", False, marks=slow), ("SIGTERM", True)])
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
