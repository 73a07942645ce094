"""Local web page: choose recordings, embeddings or scores, and read the verdict, the report or the problems.

Its server listens on 127.0.0.1.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from zeroevidence.data.writing import lock_folder
from zeroevidence.errors import MissingExtra, UsageError, ZeroEvidenceError
from zeroevidence.guard import mark_workers

MAX_BYTES = 200_000_000  # the most that one upload may hold, and the most that it may unpack to
MOST_FILES = 10_000  # of one upload
TIMEOUT = 1800.0  # seconds after which work is stopped
PORT = 8000
_PREFIX = "zeroevidence-serve-"


def serve(
    port: int = PORT,
    *,
    max_bytes: int = MAX_BYTES,
    timeout: float = TIMEOUT,
    ready: Callable[[str], None] = lambda address: None,  # noqa: ARG005
) -> None:
    """Serve the page on this machine until Ctrl-C, which is a KeyboardInterrupt; then every file is deleted.

    Parameters
    ----------
    port
        The port; 0 takes a free one.
    max_bytes
        The most that one upload may hold.
    timeout
        Seconds after which work is stopped.
    ready
        Called with the address as soon as it can be opened.
    """
    try:
        import python_multipart  # noqa: F401
        import uvicorn

        from zeroevidence.web.app import make_app
        from zeroevidence.web.forms import LimitedConnection
    except ImportError as error:
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra("web", "the page") from None
    clear_left()
    mark_workers()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as home, lock_folder(home):
        app = make_app(Path(home), max_bytes=max_bytes, timeout=timeout)
        config = uvicorn.Config(
            app,
            http=LimitedConnection,
            ws="none",
            loop="asyncio",
            backlog=32,  # connections that are accepted before the requests of others are read
            log_level="error",  # a stranger can cause any number of warnings
            access_log=False,
            timeout_graceful_shutdown=3,
        )
        server = uvicorn.Server(config)

        def stop(*_: object) -> None:
            if server.should_exit:  # for the second time, or again by the server, which has ended by then
                raise KeyboardInterrupt
            server.should_exit = True

        # a closed terminal and a polite kill end the server in order, too, so that no file is left behind
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listening.bind(("127.0.0.1", port))
                listening.listen()
            except OSError as error:
                raise UsageError(f"port {port} cannot be used: {error.strerror}; name another with --port") from None
            ready(f"http://127.0.0.1:{listening.getsockname()[1]}/")
            server.run(sockets=[listening])


def clear_left() -> None:
    """Delete uploads of servers that were killed; a folder whose server still runs is locked, and left alone."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, ZeroEvidenceError):
            if left.is_dir() and not left.is_symlink() and left.stat().st_uid == os.getuid():
                with lock_folder(left):
                    shutil.rmtree(left)
