"""Best-of timing shared by the benchmarks: ratios against a floor of the same run, because machines are noisy."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(function: Callable[[], object], repeats: int = 5) -> float:
    """Shortest of several wall-clock times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def processor_time(function: Callable[[], object]) -> float:
    """Seconds of processor time, of all threads."""
    start = time.process_time()
    function()
    return time.process_time() - start


def best_of_each(functions: dict[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """Shortest time of each, taken in turns, so that a slow spell of the machine hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            times[name].append(best(function, 1))
    return {name: min(values) for name, values in times.items()}
