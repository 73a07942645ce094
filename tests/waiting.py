"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], object], seconds: float = 600.0) -> None:
    """Wait until a condition holds; the test fails where that takes too long, which ends what hangs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int | str) -> bool:
    """Whether there is a process of this number that has not ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""  # that of one that has ended is empty
    except OSError:
        return False
