"""A process that kills programs once the process that started them has died, in whatever way: it is run, not imported.

A line of its input says that a program begins, and the same line again that it has ended. The line holds the number of
a process group, or a mark in the environment of the program, which is there from its first moment on, and in whatever
it starts.
"""

import sys

_ROUNDS, _PAUSE = 20, 0.1  # for processes that were started meanwhile; one that a driver holds is left in the end


def main() -> None:
    """Read which programs run until the input ends, and kill those that are left."""
    running: set[bytes] = set()
    for line in sys.stdin.buffer:
        running ^= {line.strip()}
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

    for _ in range(_ROUNDS):
        for file in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # it has ended, or is that of another user
                environment = file.read_bytes()
                processes += [int(file.parent.name)] if any(mark in environment for mark in marks) else []
        if not processes:
            return
        for process in processes:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        processes = []
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
