"""Audit and evaluate in the browser, on this machine only."""

from __future__ import annotations

import click

from zeroevidence.cli.printing import echo
from zeroevidence.web import MAX_BYTES, PORT, TIMEOUT

_MEGABYTE = 1_000_000


@click.command("serve")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0 for any free one."
)
@click.option(
    "--max-megabytes",
    type=click.FloatRange(0.0, min_open=True),
    default=MAX_BYTES / _MEGABYTE,
    show_default=True,
    help="Size of an upload, and of what its recordings unpack to, at most.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    help="Seconds after which a job is stopped.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def command(port: int, max_megabytes: float, timeout: float, open_browser: bool) -> None:
    """Serve a page that takes recordings, embeddings or scores, and shows the verdict or what is wrong with the files.

    The page can be opened on this machine only (127.0.0.1). Uploaded files are kept in a private temporary folder and
    deleted when the server is stopped with Ctrl-C. Recordings are audited as `audit --effort quick` does it.

    \b
    zeroevidence serve --open
    """  # noqa: D301 (\b is a control character here)
    from zeroevidence.web.serving import serve

    def ready(address: str) -> None:
        echo(f"{address} (stop with Ctrl-C)", err=True)
        if open_browser:
            click.launch(address)

    try:
        serve(port, max_bytes=int(max_megabytes * _MEGABYTE), timeout=timeout, ready=ready)
    except KeyboardInterrupt:
        echo("stopped", err=True)
