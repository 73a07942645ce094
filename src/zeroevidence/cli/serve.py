"""``zeroevidence serve``: the report as a page on this machine."""

from __future__ import annotations

import signal
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from uvicorn import Server


@click.command("serve")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--max-megabytes",
    type=click.FloatRange(0.0, min_open=True),
    default=200.0,
    show_default=True,
    help="The most that one upload may hold.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds after which work is stopped.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def command(port: int, max_megabytes: float, timeout: float, open_browser: bool) -> None:
    """Drop score and key files, or a result, onto a page and read the problems or the report.

    The page is for this machine only (127.0.0.1). Files lie in a private temporary folder and are deleted when it
    stops, with Ctrl-C.

    \b
    zeroevidence serve --open
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    try:
        import python_multipart  # noqa: F401
        import uvicorn

        from zeroevidence.web.app import make_app
    except ImportError as error:
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra("web", "the page") from None
    try:
        with tempfile.TemporaryDirectory(prefix="zeroevidence-", ignore_cleanup_errors=True) as home:
            app = make_app(Path(home), max_bytes=int(max_megabytes * 1e6), timeout=timeout)
            config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
            server = uvicorn.Server(config)
            _stop_like_ctrl_c(server)
            _run(server, port, open_browser)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)


def _stop_like_ctrl_c(server: Server) -> None:
    """Let Ctrl-C, a closed terminal or a polite kill end the server in order, so that no file is left behind."""

    def stop(*_: object) -> None:
        if server.should_exit:  # for the second time, or again by the server, which has ended by then
            raise KeyboardInterrupt
        server.should_exit = True

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)


def _run(server: Server, port: int, open_browser: bool) -> None:
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
            listening.listen()
        except OSError as error:
            raise UsageError(f"port {port} cannot be used: {error.strerror}; name another with --port") from None
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        click.echo(f"{address} (stop with Ctrl-C)", err=True)
        if open_browser:
            click.launch(address)
        server.run(sockets=[listening])
