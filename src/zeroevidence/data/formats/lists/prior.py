"""Prior probabilities of enrolled identities, `identity probability` on each line."""

from __future__ import annotations

import math
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import open_input
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.errors import InputError


def read_prior(path: str | Path) -> dict[str, float]:
    r"""Return the probability of each identity; they must be positive and sum to 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "prior"
    >>> _ = file.write_text("ada 0.75\nbob 0.25\n")
    >>> read_prior(file)
    {'ada': 0.75, 'bob': 0.25}
    """
    file = open_input(path)
    problems = FileProblems(file.name)
    prior: dict[str, float] = {}
    for number, identity, written in text.two_columns(file, problems, "identity probability"):
        value = text.parse_score(written)
        if isinstance(value, str) or not 0.0 < value <= 1.0:
            problems.add(number, f"{written!r} is not a probability; expected a number above 0, at most 1")
        elif identity in prior:
            problems.add(number, f"{identity!r} occurs twice; expected one probability for each identity")
        else:
            prior[identity] = value
    problems.check()
    total = math.fsum(prior.values())
    if abs(total - 1.0) > 1e-6:
        raise InputError(f"the probabilities sum to {total:g}; expected 1", path=file.name)
    return prior
