"""A report and a running server for the browser."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
sync_api = pytest.importorskip("playwright.sync_api")
EVIL = "<script>alert(1)</script>"
PATIENCE = 120.0  # seconds: a busy machine may take long for everything
sync_api.expect.set_options(timeout=1000.0 * PATIENCE)


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A report of a search in which one person has a hostile name, as a file."""
    from zeroevidence.report.inputs import ReportInputs
    from zeroevidence.report.page import to_html

    rng = np.random.default_rng(0)
    people = 8
    mated = np.repeat(np.arange(people), 5)
    names = np.array([EVIL, *(f"p{i:02d}" for i in range(1, people))])
    rows = []
    for system, shift in (("weak", 3.0), ("good", 0.7)):
        scores = rng.normal(0.0, 1.0, (len(mated), people))
        scores[np.arange(len(mated)), mated] += shift
        matrix = ze.ScoreMatrix(scores, mated, enrolments=names, trial_speakers=names[mated], enrolment_speakers=names)
        rows.append(ze.evaluate(matrix, labels={"system": system}, options=ze.Options(intervals=5, null=5)))
    rows[0] = replace(rows[0], labels={"system": f"weak {EVIL}"})
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(to_html(ReportInputs(rows)), encoding="utf-8")
    return path


@pytest.fixture
def visit(browser):
    """Open a page and watch it: errors on the console, dialogs and requests are collected."""
    contexts = []

    def go(address, unfold=True, **options):
        context = browser.new_context(**options)
        context.set_default_timeout(1000.0 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        seen = {"errors": [], "requests": [], "dialogs": []}
        page.on("console", lambda message: seen["errors"].append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: seen["errors"].append(str(error)))
        page.on("request", lambda request: seen["requests"].append(request.url))
        page.on("dialog", lambda dialog: (seen["dialogs"].append(dialog.message), dialog.dismiss()))
        page.goto(address if "://" in str(address) else f"file://{address}")
        if unfold and page.locator(".open-all").count():
            page.locator(".open-all").click()
        return page, seen

    yield go
    for context in contexts:
        context.close()


# Every text that can be seen, every message that may be shown, and the buttons of fields.
CONTRASTS = """() => {
  const channel = (value) => value <= 10.31475 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => text.match(/[0-9.]+/g).map(Number);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor);
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  document.querySelectorAll("details").forEach((each) => { each.name = ""; each.open = true; });
  document.querySelectorAll("[role=alert]").forEach((each) => {
    each.hidden = false;
    each.textContent ||= "a message";
  });
  const seen = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const text = walk.currentNode.textContent.trim();
    if (!text || element.closest("svg, script, style, noscript") || !element.checkVisibility()) continue;
    seen.push([text, contrast(parse(getComputedStyle(element).color), behind(element))]);
  }
  document.querySelectorAll("input[type=file]").forEach((each) => {
    const look = getComputedStyle(each, "::file-selector-button");
    seen.push([`button of ${each.id}`, contrast(parse(look.color), parse(look.backgroundColor))]);
  });
  return seen;
}"""


@pytest.fixture
def contrasts():
    """The contrast of every text of a page with what is behind it."""
    return lambda page: page.evaluate(CONTRASTS)


@contextmanager
def running(*options):
    """`zeroevidence serve` as a process of its own; its address."""
    command = [sys.executable, "-m", "zeroevidence", "serve", "--port", "0", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            address = re.match(r"(http://127\.0\.0\.1:\d+)/", process.stderr.readline())[1]
            yield address, process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="session")
def serve():
    """Starts servers."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    pytest.importorskip("python_multipart")
    return running


@pytest.fixture
def suspended():
    """Stops the process of the job that runs on a server; later jobs wait for it until it is told to go on."""
    psutil = pytest.importorskip("psutil")

    @contextmanager
    def suspend(server):
        deadline, jobs = time.monotonic() + PATIENCE, []
        while not jobs:
            assert time.monotonic() < deadline, "no job was started"
            jobs = psutil.Process(server.pid).children()
            time.sleep(0.01)
        for job in jobs:
            job.suspend()
        try:
            yield
        finally:
            for job in jobs:
                if job.is_running():
                    job.resume()

    return suspend
