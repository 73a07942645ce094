"""Connections that never send a request, or never take an answer, do not keep others from the page."""

import asyncio
import os
import re
import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("jinja2")

from uvicorn import Config
from uvicorn.server import ServerState

from benchmarks.slow_connections import Strangers, page_time
from tests.effort import slow
from zeroevidence.web.forms import MOST_CONNECTIONS, LimitedConnection

PATIENCE = 300.0  # seconds: ends what hangs


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of a server that may open 256 files."""
    home = tmp_path_factory.mktemp("serving")
    process = subprocess.Popen(
        [sys.executable, "-m", "zeroevidence", "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(home)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)),
    )
    yield int(re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())[1])
    process.terminate()
    assert process.communicate(timeout=PATIENCE)[1] == "stopped\n"  # no message about strangers


@slow
def test_three_hundred_unfinished_headers_do_not_block_the_page(port):
    strangers = Strangers(port)
    for _ in range(3):
        strangers.come(300)
        assert page_time(port, PATIENCE) < PATIENCE
    assert strangers.cut > 300
    strangers.leave()


class Transport(asyncio.Transport):
    """Remembers that it was cut."""

    cut = False

    def abort(self):
        self.cut = True


def test_the_oldest_gives_way_and_those_that_wait_for_an_answer_do_last():
    loop = asyncio.new_event_loop()
    config, state = Config("zeroevidence.web.app:make_app", ws="none"), ServerState()

    def connect(*, busy):
        connection = LimitedConnection(config, state, {}, loop)
        connection.connection_made(Transport())
        connection.cycle = SimpleNamespace(response_complete=not busy)
        return connection

    connections = [connect(busy=number < 2) for number in range(MOST_CONNECTIONS)]
    later = [connect(busy=True) for _ in range(MOST_CONNECTIONS - 2)]
    assert [each.transport.cut for each in connections] == [False, False, *[True] * (MOST_CONNECTIONS - 2)]
    connect(busy=True)  # all others are slow readers or senders now
    assert [each.transport.cut for each in (*connections[:2], *later)] == [True, *[False] * (MOST_CONNECTIONS - 1)]
    loop.close()
