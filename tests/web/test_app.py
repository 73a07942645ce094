"""The page on this machine: who may ask, what may be sent, what comes back, and that nothing stays."""

import asyncio
import html
import io
import re
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytest.importorskip("python_multipart")

with warnings.catch_warnings():  # newer versions of it prefer another HTTP client than the one we ask for
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

import zeroevidence as ze
from tests.effort import slow
from tests.waiting import wait_until
from zeroevidence.data.formats.scores.read import diagnose
from zeroevidence.data.formats.vectors.read import write_embeddings
from zeroevidence.plot import KINDS
from zeroevidence.plot.canvas import FORMATS
from zeroevidence.report import render
from zeroevidence.web.app import make_app
from zeroevidence.web.forms import receive_form
from zeroevidence.web.jobs import MOST_JOBS
from zeroevidence.web.outcome import ANONYMISED, FIGURES, OUTCOME, REPORT, RESULT

ADDRESS = "http://127.0.0.1:8000"
EVIL = "<script>alert(1)</script>.txt"
SCORES = "a u1 2.0\na u2 -1.0\nb u1 -0.5\nb u2 1.5\nc u1 0.1\nc u2 0.2\n"
KEY = "a u1 target\na u2 nontarget\nb u1 nontarget\nb u2 target\nc u1 nontarget\nc u2 nontarget\n"


@pytest.fixture
def home(tmp_path):
    place = tmp_path / "private"
    place.mkdir()
    return place


@pytest.fixture
def client(home):
    app = make_app(home, max_bytes=1_000_000, timeout=600.0)
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as found:
        yield found


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """Jobs, each with a child, that never end by themselves: a test finds them running however slow the machine is."""
    program = tmp_path / "endless"
    program.write_text('#!/bin/sh\nsleep 3600 & echo "$! $TMPDIR" > "$4/p"\nmv "$4/p" "$4/child"\nexec sleep 3600\n')
    program.chmod(0o700)
    monkeypatch.setattr("zeroevidence.web.jobs.sys.executable", str(program))


def action(client):
    return re.search(r'action="(/upload/[^"]+)"', client.get("/").text)[1]


def post(client, files, **fields):
    return client.post(action(client), files=files, data=fields)


def finished(client, answer):
    assert answer.status_code == 303, answer.text
    place = answer.headers["location"]
    wait_until(lambda: client.get(f"{place}/state").json()["over"])
    return place, client.get(f"{place}/state").json()["state"]


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A client, its folder, and the place of a report that was made of a file whose name is a path."""
    home = tmp_path_factory.mktemp("reported") / "private"
    home.mkdir()
    app = make_app(home, max_bytes=1_000_000, timeout=600.0)
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as client:
        files = [("scores", ("../../../etc/evil.txt", SCORES)), ("keys", ("key", KEY))]
        place, state = finished(client, post(client, files, title="Ours & theirs"))
        assert state == "done"
        yield client, home, place


def test_files_become_a_report(reported):
    client, home, place = reported
    page = client.get(place).text
    assert "The report is ready" in page
    assert "evil.txt" in page
    assert "../" not in page
    answer = client.get(f"{place}/report")
    assert answer.status_code == 200
    assert "<h1>Ours &amp; theirs</h1>" in answer.text
    assert str(home) not in answer.text
    assert "script-src 'sha256-" in answer.headers["content-security-policy"]
    assert client.get(f"{place}/report?save=1").headers["content-disposition"].startswith("attachment")
    (folder,) = home.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    names = {path.name for path in folder.iterdir() if not re.fullmatch(r"\d\.upload", path.name)}
    ours = {f"{kind}.{ending}" for kind in KINDS for ending in FORMATS} | {REPORT, RESULT, FIGURES, OUTCOME}
    assert names <= {"request.json"} | ours  # the names of the user are no paths


def test_problems_are_those_of_doctor_with_the_names_of_the_user(client, home, tmp_path):
    bad = SCORES.replace("b u2 1.5", "b u2 oops") + "d u9 1.0\nd u9 1.0\n"
    (tmp_path / "s").write_text(bad)
    (tmp_path / "k").write_text(KEY)
    expected = diagnose(tmp_path / "s", tmp_path / "k")
    place, state = finished(client, post(client, [("scores", (EVIL, bad)), ("keys", ("k", KEY))]))
    assert state == "problems"
    text = client.get(place).text
    assert f"{len(expected)} problems with these files" in text
    assert "script&gt;.txt" in text  # a browser, and so the page, takes what follows the last slash
    assert "<script>alert" not in text
    assert re.search(r'<td class="num">4</td><td>[^<]*oops', text)
    assert str(home) not in text
    for problem in expected:
        assert html.escape(problem.reason.replace(f"{tmp_path}/", "")).replace("&#x27;", "&#39;") in text
    assert client.get(f"{place}/report").status_code == 404


def test_a_result_needs_no_key(client):
    row = ze.evaluate(ze.Scores(np.arange(5.0), np.arange(-5.0, 2.0)), options=ze.Options(intervals=0, null=0))
    place, state = finished(client, post(client, [("scores", ("anything", render([row], "json")))]))
    assert state == "done"
    assert row.signature in client.get(f"{place}/report").text


def test_foreign_hosts_are_refused(client):
    for host in ("evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "10.0.0.1"):
        answer = client.get("/", headers={"host": host})
        assert (answer.status_code, "upload" in answer.text) == (400, False)
    assert client.get("/", headers={"host": "localhost:8000"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": ADDRESS}, 303),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, 303),
    ],
)
def test_only_the_form_of_the_page_is_taken(client, home, endless, headers, code):
    files = [("scores", ("s", SCORES))]
    assert client.post(action(client), files=files, headers=headers).status_code == code
    assert client.post("/upload/guess", files=files).status_code == 403
    assert len(list(home.iterdir())) == (code == 303)


def test_what_is_too_large_is_refused_while_it_comes(client, home):
    def body():
        yield b'--b\r\nContent-Disposition: form-data; name="scores"; filename="s"\r\n\r\n'
        for _ in range(30):
            yield b"x" * 100_000
        yield b"\r\n--b--\r\n"

    # In chunks: no length is claimed.
    answer = client.post(action(client), content=body(), headers={"content-type": "multipart/form-data; boundary=b"})
    assert answer.status_code == 413
    assert "larger than 1 MB" in answer.text
    assert list(home.iterdir()) == []


def test_jobs_cannot_be_guessed_and_paths_lead_nowhere(client):
    for path in ("/", "/job/x", "/job/x/report", "/job/..%2f..%2fetc/report", "/../etc/passwd", "/static/x"):
        answer = client.get(path)
        assert answer.status_code == (200 if path == "/" else 404)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    places = {post(client, [("scores", ("s", "x"))]).headers["location"] for _ in range(2)}
    assert len(places) == 2
    assert all(len(place.removeprefix("/job/")) >= 32 for place in places)


def test_forgotten_files_are_gone(client, home, endless):
    place = post(client, [("scores", ("s", SCORES))]).headers["location"]
    assert client.post(f"{place}/forget/guess").status_code == 403
    assert client.post(f"{place}/forget/{action(client).rpartition('/')[2]}").status_code == 303
    assert list(home.iterdir()) == []
    assert client.get(place).status_code == 404


def test_work_is_stopped_after_its_time_and_nothing_stays(home, endless):
    app = make_app(home, timeout=0.05)
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as client:
        place, state = finished(client, post(client, [("scores", ("s", SCORES)), ("keys", ("k", KEY))]))
        assert state == "timed-out"
        assert "longer than 0.05 seconds" in client.get(place).text
        assert any(home.iterdir())
    assert not home.exists()


def test_a_cancelled_job_ends_with_what_it_started(client, home, endless):
    psutil = pytest.importorskip("psutil")
    place = post(client, [("scores", ("s", SCORES))]).headers["location"]
    (folder,) = home.iterdir()
    wait_until(lambda: (folder / "child").exists())
    number, temporary = (folder / "child").read_text().split()
    assert temporary == str(folder)  # temporary files are deleted with the job
    child = psutil.Process(int(number))
    text = client.get(place).text
    assert '<meta http-equiv="refresh"' in text  # without a script the page still moves on
    assert client.post(re.search(r'action="([^"]*/cancel/[^"]+)"', text)[1]).status_code == 303
    assert client.get(f"{place}/state").json()["state"] == "cancelled"
    assert "Cancelled" in client.get(place).text
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_only_so_many_jobs_wait_also_of_those_that_come_at_once(home, endless, monkeypatch):
    arrived = []

    async def receive_together(*arguments):
        arrived.append(arguments)
        while len(arrived) < MOST_JOBS + 8:
            await asyncio.sleep(0.01)
        return await receive_form(*arguments)

    monkeypatch.setattr("zeroevidence.web.app.receive_form", receive_together)
    with TestClient(make_app(home), base_url=ADDRESS, follow_redirects=False) as client:
        place = action(client)
        with ThreadPoolExecutor(MOST_JOBS + 8) as pool:
            sent = [pool.submit(client.post, place, files=[("scores", ("s", SCORES))]) for _ in range(MOST_JOBS + 8)]
            codes = sorted(answer.result().status_code for answer in sent)
        assert codes == [303] * MOST_JOBS + [503] * 8
        assert (post(client, []).status_code, len(list(home.iterdir()))) == (503, MOST_JOBS)


def test_an_upload_that_breaks_off_is_no_error_of_the_page(client, home):
    parts = [{"type": "http.request", "body": b"--b\r\n", "more_body": True}, {"type": "http.disconnect"}]
    sent = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"multipart/form-data; boundary=b")]
    scope = {"type": "http", "method": "POST", "path": action(client), "query_string": b"", "headers": headers}
    client.portal.call(client.app, scope, receive, send)
    assert sent[0]["status"] == 400
    assert list(home.iterdir()) == []


def embeddings(folder, name, spread):
    """A file of vectors of nine people, and of noise: the larger the noise, the less is left of the people."""
    people = np.repeat([f"p{number}" for number in range(9)], 4)
    centres = np.repeat(np.random.default_rng(1).normal(size=(9, 6)), 4, axis=0)
    vectors = centres + spread * np.random.default_rng(2).normal(size=centres.shape)
    ids = np.array([f"{person}-{number}" for number, person in enumerate(people)])
    path = folder / name
    write_embeddings(ze.Embeddings(vectors, ids, people), path)
    return name, path.read_bytes()


@slow
def test_two_systems_of_embeddings_are_audited_and_compared(client, home, tmp_path):
    noise = {"original": ("plain.npz", 0.1), "anonymised": ("weak.npz", 0.2), "second": ("strong.npz", 30.0)}
    files = [(field, embeddings(tmp_path, *made)) for field, made in noise.items()]
    place, state = finished(client, post(client, files, kind="embeddings"))
    text = client.get(place).text
    assert state == "done", text
    assert re.search("strong discloses less than weak|is shown to disclose less|measures disagree", text)
    assert "Verdict on weak" in text
    assert "Verdict on strong" in text
    assert text.count("<svg") == 2
    names = re.findall(rf'href="{place}/file/([^"]+)"', text)
    assert {RESULT, FIGURES, "attackers.png", "attackers.svg", "attackers.pdf"} <= set(names)
    for name in (RESULT, "attackers.svg"):  # others are drawn in the same way, which takes its time
        answer = client.get(f"{place}/file/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    for name in ("request.json", "0.upload", "..%2fx", OUTCOME):
        assert client.get(f"{place}/file/{name}").status_code == 404
    assert str(home) not in text


@pytest.mark.parametrize(
    ("kind", "fields", "wanted"),
    [
        ("scores", (), "No score file or result was chosen."),
        ("speech", (), "No original recordings were chosen."),
        ("embeddings", ("original",), "No anonymised embeddings were chosen."),
        ("speech", ("original", "original_folder", "anonymised"), "A file and a folder were chosen"),
        ("speech", ("original", "original", "anonymised"), "Several files were chosen where one was expected."),
        ("scores", ("scores", "speakers", "speakers"), "Expected one file with the speakers."),
        ("anonymise", ("original",), "No protector was chosen that is offered here."),
    ],
)
def test_what_is_missing_is_said_at_once(client, home, kind, fields, wanted):
    answer = post(client, [(name, ("x", b"x")) for name in fields] or [("other", ("x", b"x"))], kind=kind)
    assert answer.status_code == 400
    assert wanted in answer.text
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "title", "compared"),
    [("sample", "Bundled speech under two", True), ("cascade", "Bundled speech read by another voice", False)],
)
def test_the_samples_need_no_file_but_the_secret(client, home, endless, kind, title, compared):
    place = re.search(rf'action="(/{kind}/[^"]+)"', client.get("/").text)[1]
    assert client.post(f"/{kind}/guess").status_code == 403
    assert client.post(place, headers={"origin": "https://evil.example"}).status_code == 403
    assert list(home.iterdir()) == []
    page = client.get(client.post(place).headers["location"]).text
    assert title in page
    assert ("Compare the systems" in page) == compared


def recordings(folder, factor):
    """Buzzing voices of six people, four utterances each, all at another pitch by a factor."""
    soundfile = pytest.importorskip("soundfile")
    rng, time_axis = np.random.default_rng(3), np.arange(0, 0.5, 1 / 16_000)  # all of them within the limit
    for number in range(6):
        for take in range(4):
            pitch = factor * (90 + 25 * number + 2 * take)
            wave = sum(np.sin(2 * np.pi * pitch * k * time_axis + k * number) / k for k in range(1, 12))
            path = folder / f"s{number}" / f"s{number}_{take}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, 0.1 * wave + 0.003 * rng.normal(size=len(wave)), 16_000)
    return folder


def test_recordings_are_anonymised_heard_and_packed_with_the_card(client, home, tmp_path):
    soundfile = pytest.importorskip("soundfile")
    for number, size in enumerate((8_000, 9_000)):
        (tmp_path / "talks" / f"s{number}").mkdir(parents=True)
        wave = 0.1 * np.random.default_rng(number).normal(size=size)
        soundfile.write(tmp_path / "talks" / f"s{number}" / f"<b>{number}.wav", wave, 16_000)
    soundfile.write(tmp_path / "talks" / "s1" / "still.wav", np.zeros(8_000), 16_000)
    sent = sorted((tmp_path / "talks").rglob("*.wav"))
    files = [("original_folder", (str(file.relative_to(tmp_path)), file.read_bytes())) for file in sent]
    for forbidden in ("command:touch {input} {output}", "mcadams:0.7+command:x"):
        assert post(client, files, kind="anonymise", protect=forbidden).status_code == 400
    place, state = finished(client, post(client, files, kind="anonymise", protect="mcadams"))
    page = client.get(place)
    assert state == "done", page.text
    assert "media-src 'self'" in page.headers["content-security-policy"]
    assert page.text.count("<audio") == 4
    assert "&lt;b&gt;0.wav" in page.text
    assert "<b>" not in page.text
    assert "s1/still.wav: silent: no sample above -80 dB" in page.text
    assert str(home) not in page.text
    with zipfile.ZipFile(io.BytesIO(client.get(f"{place}/file/{ANONYMISED}").content)) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    names = {"talks/s0/<b>0.wav", "talks/s1/<b>1.wav", "talks/digests.txt", "talks/protector.json"}
    assert set(packed) == names
    assert client.get(f"{place}/file/original-1.wav").content == sent[0].read_bytes()
    assert client.get(f"{place}/file/anonymised-1.wav").content == packed["talks/s0/<b>0.wav"] != sent[0].read_bytes()
    assert client.get(f"{place}/report").status_code == 404
    for name in ("request.json", "0.upload", "original-3.wav"):
        assert client.get(f"{place}/file/{name}").status_code == 404
    place, state = finished(client, post(client, files[2:], kind="anonymise", protect="mcadams"))
    assert state == "problems"
    assert "silent: no sample above -80 dB" in client.get(place).text


@slow
def test_a_zip_file_and_a_folder_of_recordings_are_audited(client, home, tmp_path):
    pytest.importorskip("onnxruntime")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in recordings(tmp_path / "plain", 1.0).rglob("*.wav"):
            archive.write(file, file.relative_to(tmp_path))
    changed = recordings(tmp_path / "changed", 1.3)
    files = [("original", ("plain.zip", packed.getvalue()))]
    files += [
        ("anonymised_folder", (str(file.relative_to(tmp_path)), file.read_bytes())) for file in changed.rglob("*.wav")
    ]
    place, state = finished(client, post(client, files, kind="speech"))
    text = client.get(place).text
    assert state == "done", text
    assert "cross-validation: 6 people" in text.lower()
    assert str(home) not in text
    assert str(home) not in client.get(f"{place}/report").text

    # All problems are listed, by the names of the user, and nothing is said of folders of this machine.
    files = [(field, file) for field, file in files if "s0_0" not in file[0] and "s1_0" not in file[0]]
    place, state = finished(client, post(client, files, kind="speech"))
    text = client.get(place).text
    assert state == "problems"
    assert "2 problems with these files" in text
    assert str(home) not in text
