"""Lists of the sessions that identifiers were recorded in, `identifier session` on each line."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import open_input
from zeroevidence.data.formats.problems import FileProblems


def read_sessions(path: str | Path) -> dict[str, frozenset[str]]:
    r"""Return the sessions of each identifier; an enrolment that was made from several sessions has a line for each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "sessions"
    >>> _ = file.write_text("ada-1 monday\nada monday\nada friday\n")
    >>> {name: sorted(sessions) for name, sessions in read_sessions(file).items()}
    {'ada-1': ['monday'], 'ada': ['friday', 'monday']}
    """
    file = open_input(path)
    problems = FileProblems(file.name)
    sessions: dict[str, set[str]] = defaultdict(set)
    for _, identifier, session in text.two_columns(file, problems, "identifier session"):
        sessions[identifier].add(session)
    if not sessions and not problems:
        problems.add(None, "empty; expected one line per identifier: identifier session")
    problems.check()
    return {identifier: frozenset(names) for identifier, names in sessions.items()}
