"""Transcripts and classes of utterances: Kaldi ``text`` files, and lists of one class for each utterance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import TEXT, open_input
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.errors import InputError


def read_transcripts(path: str | Path) -> dict[str, str]:
    r"""Return the transcript of each utterance, `utterance word word ...` on each line; "" where nothing was heard.

    Raises
    ------
    InputError
        ``file:line: reason`` of the first problem.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "text"
    >>> _ = file.write_text("u1 we call  it bear\nu2\n")
    >>> read_transcripts(file)
    {'u1': 'we call it bear', 'u2': ''}
    """
    file = open_input(path)
    if file.kind != TEXT:
        raise InputError(f"is a {file.kind} file; expected text: utterance word word ...", path=file.name)
    problems = FileProblems(file.name)
    lines = ((number, line.split() or [""]) for number, line in text.full_lines(file.read(), problems))
    return _each_once(((number, cells[0], " ".join(cells[1:])) for number, cells in lines), problems)


def read_classes(path: str | Path) -> dict[str, str]:
    """Return the class of each utterance, such as an emotion, `utterance class` on each line."""
    file = open_input(path)
    problems = FileProblems(file.name)
    return _each_once(text.two_columns(file, problems, "utterance class"), problems)


def _each_once(lines: Iterable[tuple[int, str, str]], problems: FileProblems) -> dict[str, str]:
    """Return the second column by the first, in which every utterance occurs once."""
    values: dict[str, str] = {}
    for number, name, value in lines:
        if name in values:
            problems.add(number, f"{name!r} occurs twice; expected each utterance once")
        values[name] = value
    if not values and not problems:
        problems.add(None, "empty; expected one utterance per line")
    problems.check()
    return values
