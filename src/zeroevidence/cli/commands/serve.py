"""Audit and evaluate in the browser, on this machine only."""

from __future__ import annotations

from dataclasses import dataclass

import click

from zeroevidence.cli.declare import options_of
from zeroevidence.cli.printing import echo
from zeroevidence.run import setting
from zeroevidence.web import MAX_BYTES, PORT, TIMEOUT, serve

_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class _Server:
    """Where the page is served, and what it takes."""

    port: int = setting(PORT, "Port; 0 for any free one.", least=0, most=65535)
    max_megabytes: float = setting(
        MAX_BYTES / _MEGABYTE, "Size of an upload, and of what its recordings unpack to, at most.", above=0.0
    )
    timeout: float = setting(TIMEOUT, "Seconds after which a job is stopped.", above=0.0)
    opens: bool = setting(False, "Open the page in the browser.", spelling="--open")


@click.command("serve")
@options_of(_Server, "server")
def command(server: _Server) -> None:
    """Serve a page that takes recordings, embeddings or scores, and shows the verdict or what is wrong with the files.

    The page can be opened on this machine only (127.0.0.1). Uploaded files are kept in a private temporary folder and
    deleted when the server is stopped with Ctrl-C. Recordings are audited as `audit --effort quick` does it, or
    anonymised as `anonymise` does it, to listen to and to take along.

    \b
    zeroevidence serve --open
    """  # noqa: D301 (\b is a control character here)

    def ready(address: str) -> None:
        echo(f"{address} (stop with Ctrl-C)", err=True)
        if server.opens:
            click.launch(address)

    try:
        serve(server.port, max_bytes=int(server.max_megabytes * _MEGABYTE), timeout=server.timeout, ready=ready)
    except KeyboardInterrupt:
        echo("stopped", err=True)
