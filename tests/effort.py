"""How much is tested: the essential by default, everything where `ZEROEVIDENCE_TESTS=full` is set."""

import os

import pytest

CHOICES = ("quick", "full")
CHOSEN = os.environ.get("ZEROEVIDENCE_TESTS") or "quick"
if CHOSEN not in CHOICES:
    raise pytest.UsageError(f"ZEROEVIDENCE_TESTS is {CHOSEN!r}; expected {' or '.join(CHOICES)}")
FULL = CHOSEN == "full"
SKIPPED = "slow: runs with ZEROEVIDENCE_TESTS=full"

# For tests, and for parameters of tests, that take seconds; a quicker test or parameter must cover the same ability.
slow = pytest.mark.slow


def repetitions(quick: int, full: int) -> int:
    """The number of examples, cases or kills of a test."""
    return full if FULL else quick


def spread(values: list, quick: int) -> list:
    """Return parameters of a test: all in a full run, else `quick` of them, the first and the last included."""
    chosen = {round(at * (len(values) - 1) / max(quick - 1, 1)) for at in range(quick)}
    rows = [value if isinstance(value, tuple) else (value,) for value in values]  # one parameter, or several
    return [pytest.param(*row, marks=() if at in chosen else slow) for at, row in enumerate(rows)]
