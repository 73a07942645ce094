"""The guard: a process that kills what another has started once that has died, in whatever way; run, not imported.

A line of its input says that something begins (``+``) or has ended (``-``), and what: the number of a process group, or
a mark in the environment of processes, which is there from their first moment on. A mark that begins with ``w`` is that
of processes that end by themselves unless they are held up, and have some time for it.
"""

import sys

_WAIT, _ROUNDS, _PAUSE = 30, 45, 0.1  # rounds before the last are killed, and at all; seconds between two


def main() -> None:
    """Read what runs until the input ends, and kill what is left of it."""
    running: set[bytes] = set()
    for line in sys.stdin.buffer:
        (running.add if line.startswith(b"+") else running.discard)(line[1:].strip())
    if running:
        groups = {entry for entry in running if entry.isdigit()}
        _kill([-int(group) for group in groups], running - groups)


def _kill(processes: list[int], marks: set[bytes]) -> None:
    """Kill processes, and all that have any of the marks, where the system shows environments."""
    import os  # imported here, so that this process starts in a few milliseconds
    import signal
    import time
    from contextlib import suppress
    from pathlib import Path

    for number in range(_ROUNDS):
        waits = False
        for file in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # it has ended, or is that of another user
                environment = file.read_bytes()
                kinds = {mark[:1] for mark in marks if mark in environment}
                waits |= bool(kinds)
                processes += [int(file.parent.name)] if kinds - {b"w"} or (kinds and number >= _WAIT) else []
        for process in processes:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not (waits or processes):
            return
        processes = []
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
