"""Waiting for what other processes do."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], seconds: float = 600.0) -> None:
    """Wait until a condition holds; the test fails where that takes too long, which ends what hangs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
