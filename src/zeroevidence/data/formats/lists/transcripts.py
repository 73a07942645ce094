"""What was said, and what was heard: Kaldi ``text`` files, and lists of one class for each utterance."""

from __future__ import annotations

from pathlib import Path

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import TEXT, locate
from zeroevidence.data.formats.lists.speakers import two_columns
from zeroevidence.data.formats.scores.reading.table import Problems
from zeroevidence.errors import InputError


def read_transcripts(path: str | Path) -> dict[str, str]:
    r"""The words of each utterance, `utterance word word ...` on each line; no words where nothing was heard.

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
    source = locate(path)
    if source.kind != TEXT:
        raise InputError(f"is a {source.kind} file; expected text: utterance word word ...", path=source.name)
    problems = Problems(source.name)
    found: dict[str, str] = {}
    for number, raw in text.numbered_lines(source.read()):
        if text.is_blank(raw):
            continue
        line, wrong = text.decode(raw)
        name, *words = line.split() or [""]
        if wrong:
            problems.add(number, wrong)
        elif name in found:
            problems.add(number, f"{name!r} occurs twice; expected each utterance once")
        else:
            found[name] = " ".join(words)
    if not found and not problems.found:
        problems.add(None, "empty; expected one utterance per line")
    if problems.found:
        raise InputError.of(problems.all())
    return found


def read_classes(path: str | Path) -> dict[str, str]:
    """The class of each utterance, such as an emotion, `utterance class` on each line."""
    source = locate(path)
    problems = Problems(source.name)
    found: dict[str, str] = {}
    for number, name, word in two_columns(source, problems, "utterance class"):
        if name in found:
            problems.add(number, f"{name!r} occurs twice; expected each utterance once")
        found[name] = word
    if not found and not problems.found:
        problems.add(None, "empty; expected one utterance per line")
    if problems.found:
        raise InputError.of(problems.all())
    return found
