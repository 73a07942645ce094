"""Prior probabilities over enrolled identities, `identity probability` on each line."""

from __future__ import annotations

import math
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import locate
from zeroevidence.data.formats.lists.speakers import two_columns
from zeroevidence.data.formats.scores.reading.table import Problems
from zeroevidence.errors import InputError


def read_prior(path: str | Path) -> dict[str, float]:
    r"""Probability of each identity; they must be positive and sum to 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "prior"
    >>> _ = file.write_text("ada 0.75\nbob 0.25\n")
    >>> read_prior(file)
    {'ada': 0.75, 'bob': 0.25}
    """
    source = locate(path)
    problems = Problems(source.name)
    prior: dict[str, float] = {}
    for number, identity, written in two_columns(source, problems, "identity probability"):
        value = text.parse_score(written)
        if isinstance(value, str) or not 0.0 < value <= 1.0:
            problems.add(number, f"{written!r} is not a probability; expected a number above 0, at most 1")
        elif identity in prior:
            problems.add(number, f"{identity!r} occurs twice; expected one probability for each identity")
        else:
            prior[identity] = value
    if problems.found:
        raise InputError.of(problems.all())
    if abs(math.fsum(prior.values()) - 1.0) > 1e-6:
        total = math.fsum(prior.values())
        raise InputError(f"the probabilities sum to {total:g}; expected 1", path=source.name)
    return prior
