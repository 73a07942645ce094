"""The option --measure."""

from __future__ import annotations

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import Decorator
from zeroevidence.cli.output import find_measures


def measure_option(detail: str = "JSON holds all [default: the usual ones]") -> Decorator:
    """Return the option --measure, passed on as `measures`."""
    return shared.measure(detail, name="measures", callback=lambda _, __, names: find_measures(names))
