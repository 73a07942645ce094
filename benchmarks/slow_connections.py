"""Time, memory and messages of `zeroevidence serve` while strangers hold connections open, as a Markdown table.

python benchmarks/slow_connections.py [--connections 300] [--rounds 20] [--files 256]

Each stranger sends half of the headers of a request and then nothing; whoever is cut off comes back at once. In every
round a visitor asks for the page. The server may open as many files as some systems allow a process by default.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import re
import resource
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Never: "


@dataclass
class Strangers:
    """Connections with half a request each."""

    port: int
    held: list[socket.socket] = field(default_factory=list)
    cut: int = 0

    def come(self, number: int) -> None:
        """Have so many connections, those among them that were cut off anew."""
        for stranger in list(self.held):
            readable, _, _ = select.select([stranger], [], [], 0)
            if readable:  # nothing is ever answered, so it was cut off
                self.held.remove(stranger)
                stranger.close()
                self.cut += 1
        while len(self.held) < number:
            with contextlib.suppress(ConnectionError):
                self.held.append(socket.create_connection(("127.0.0.1", self.port), timeout=60.0))
                self.held[-1].sendall(HALF)

    def leave(self) -> None:
        """Close all."""
        for stranger in self.held:
            stranger.close()


@contextlib.contextmanager
def server(files: int, errors: Path, home: Path) -> Iterator[tuple[int, int]]:
    """Start the page; yield its port and its process."""
    command = [sys.executable, "-m", "zeroevidence", "serve", "--port", "0"]
    with errors.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stderr=stream,
            env={**os.environ, "TMPDIR": str(home)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )
    try:
        while not (address := re.search(r"127\.0\.0\.1:(\d+)", errors.read_text())):
            time.sleep(0.05)
        yield int(address[1]), process.pid
    finally:
        process.terminate()
        process.wait()


def page_time(port: int, patience: float) -> float:
    """Return seconds until the page is there; infinite where it does not come."""
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        return time.monotonic() - start if answer.status == 200 else float("inf")
    except (OSError, http.client.HTTPException):
        return float("inf")
    finally:
        connection.close()


def memory(process: int) -> int:
    """Return the bytes that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def measured(number: int, rounds: int, files: int, patience: float = 30.0) -> str:
    """Return the line of the table for so many strangers."""
    with tempfile.TemporaryDirectory() as home:
        errors = Path(home, "stderr")
        with server(files, errors, Path(home)) as (port, process):
            page_time(port, 60.0)  # templates are read
            before, strangers, times = memory(process), Strangers(port), []
            for _ in range(rounds):
                strangers.come(number)
                times.append(page_time(port, patience))
                time.sleep(0.1)
            grown = memory(process) - before
            strangers.leave()
        written = errors.stat().st_size
    answered = [seconds for seconds in times if seconds < float("inf")]
    middle, longest = (1000 * statistics.median(answered), 1000 * max(answered)) if answered else (0.0, 0.0)
    cells = (number, strangers.cut, f"{len(answered)} of {rounds}", f"{middle:.0f} ms", f"{longest:.0f} ms")
    return f"| {' | '.join(map(str, cells))} | {grown / 1e6:.1f} MB | {written} bytes |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--files", type=int, default=256, help="files that the server may open")
    options = parser.parse_args()
    print("| held connections | cut off | pages answered | median | longest | more memory | messages |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for number in (0, options.connections):
        print(measured(number, options.rounds, options.files), flush=True)


if __name__ == "__main__":
    main()
