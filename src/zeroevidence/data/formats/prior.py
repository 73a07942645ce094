"""Prior probabilities over enrolled identities, `identity probability` on each line."""

from __future__ import annotations

import math
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.source import locate
from zeroevidence.data.formats.table import Problems
from zeroevidence.errors import InputError


def read_prior(path: str | Path) -> dict[str, float]:
    """Probability of each identity; they must be positive and sum to 1."""
    source = locate(path)
    if source.kind != "text":
        raise InputError(f"is a {source.kind} file; expected text: identity probability", path=source.name)
    problems = Problems(source.name)
    prior: dict[str, float] = {}
    for number, raw in text.lines_of(source.read()):
        if text.is_blank(raw):
            continue
        line, wrong = text.decode(raw)
        cells = [] if wrong else text.split(line, " ")
        if wrong or len(cells) != 2:
            problems.add(number, wrong or f"{len(cells)} column(s); expected 2: identity probability")
            continue
        value = text.score_of(cells[1])
        if isinstance(value, str) or not 0.0 < value <= 1.0:
            problems.add(number, f"{cells[1]!r} is not a probability; expected a number above 0, at most 1")
        elif cells[0] in prior:
            problems.add(number, f"{cells[0]!r} occurs twice; expected one probability for each identity")
        else:
            prior[cells[0]] = value
    if problems.found:
        raise InputError.of(problems.all())
    if abs(math.fsum(prior.values()) - 1.0) > 1e-6:
        total = math.fsum(prior.values())
        raise InputError(f"the probabilities sum to {total:g}; expected 1", path=source.name)
    return prior
