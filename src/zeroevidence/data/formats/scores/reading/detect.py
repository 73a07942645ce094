"""Detection of the format of a text file by the majority of its lines, so that one bad line changes nothing.

The first thousand lines vote. Formats with the same number of columns are distinguished by which columns hold numbers
or labels. Where several fit (LibriSpeech speakers are numbers), the first of them wins unless only another finds its
trials in the key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from zeroevidence.data.formats import text
from zeroevidence.data.formats.scores.reading.layout import Layout, Lines, Role, sample_lines
from zeroevidence.data.formats.scores.reading.other_kinds import other_kind
from zeroevidence.data.formats.scores.score_format import AUTO, SCORE_FORMATS, Columns, FirstLines
from zeroevidence.data.formats.scores.table import unknown_layout
from zeroevidence.data.tandem import KINDS
from zeroevidence.errors import InputError

Matches: TypeAlias = Callable[[list[str], list[str]], bool]

_ASKED: dict[Role, str] = {"scores": "score", "key": "label"}
_SWAPPED: dict[Role, str] = {
    "scores": "labels, not scores: is this the key?",
    "key": "numbers, not labels: are these scores?",
}


def detect(data: bytes, name: str, role: Role, *, forced: str = AUTO, matches: Matches | None = None) -> Layout:
    """Return the layout of a text file.

    Parameters
    ----------
    data
        The file, or its first lines.
    name
        The file as the user wrote it.
    role
        What it should hold.
    forced
        A format that the user named, or "auto".
    matches
        Returns whether any of these (enrolments, trials) is in the key; decides between formats that look alike.

    Raises
    ------
    InputError
        When the file is empty, in another encoding, fits no layout, or holds something else than it should.
    """
    sample = sample_lines(data, name)
    layout = _first_lines_layout(sample, name, role, forced)
    if layout is not None:
        return layout
    reason = other_kind(data, name, sample) if role == "scores" and forced == AUTO else None
    if reason is not None:
        raise InputError(reason, path=name, line=sample[0][0])
    layout = unknown_layout(sample, name) if role in _ASKED and forced == AUTO else None
    if layout is not None:
        return layout
    separator = _separator(sample)
    choices = _choices(role)
    if forced != AUTO and forced not in choices:
        raise InputError(f"the format {forced} has no {role.upper()} scores", path=name)
    if forced != AUTO:
        return Layout(forced, choices[forced].of(role), separator)
    rows = [cells for _, line in sample if not isinstance(cells := text.split(line, separator), str)]
    first = sample[0][0]
    width = _width(rows, role, name, first)
    rows = [cells for cells in rows if len(cells) == width]
    alike = {format: columns.of(role) for format, columns in choices.items() if len(columns.of(role)) == width}
    format = next(iter(alike)) if len(alike) == 1 else _by_content(alike, rows, role, name, first, matches)
    layout = Layout(format, alike[format], separator)
    if role not in _ASKED:
        _check_columns(layout, rows, role, name, first)
    return layout


def _first_lines_layout(sample: Lines, name: str, role: Role, forced: str) -> Layout | None:
    """Return the layout that a format recognises by the first lines."""
    for format in SCORE_FORMATS.values():
        if isinstance(format.text, FirstLines) and format.holds(role) and forced in (AUTO, format.name):
            layout = format.text.layout(sample, name)
            if layout is not None:
                return layout
            if forced == format.name:
                raise InputError(format.text.lacking, path=name, line=sample[0][0])
    return None


def _choices(role: Role) -> dict[str, Columns]:
    return {
        name: format.text
        for name, format in SCORE_FORMATS.items()
        if isinstance(format.text, Columns) and format.text.of(role)
    }


def _separator(sample: Lines) -> str:
    """Return a comma where most lines have one and no blanks, otherwise a blank."""
    blank = sum(" " in line.strip(" \t") or "\t" in line.strip(" \t") for _, line in sample)
    comma = sum("," in line for _, line in sample)
    return "," if comma > len(sample) / 2 >= blank else " "


def _expected(role: Role) -> str:
    """Return the lines that would be understood, for messages."""
    lines = [f"`{line}`" for columns in _choices(role).values() if (line := columns.line(role))]
    return f"{', '.join(lines[:-1])} or {lines[-1]}"


def _width(rows: Sequence[Sequence[str]], role: Role, name: str, line: int) -> int:
    allowed = {len(columns.of(role)) for columns in _choices(role).values()}
    counts = Counter(len(cells) for cells in rows)
    if not counts:
        raise InputError(f"no columns found; expected {_expected(role)}", path=name, line=line)
    width = max(counts, key=lambda n: (counts[n], n in allowed, n))
    if width not in allowed:
        raise InputError(f"{width} column(s); expected {_expected(role)}", path=name, line=line)
    return width


def _by_content(
    alike: dict[str, tuple[str, ...]],
    rows: Sequence[Sequence[str]],
    role: Role,
    name: str,
    line: int,
    matches: Matches | None,
) -> str:
    """Return the one of several formats with as many columns whose columns hold what they should."""

    def most(at: int, meaning: str) -> bool:
        return _most_hold(meaning, (cells[at] for cells in rows), role)

    def in_key(columns: tuple[str, ...]) -> bool:
        if matches is None or not {"enrol", "trial"} <= set(columns):
            return False
        enrol, trial = columns.index("enrol"), columns.index("trial")
        return matches([cells[enrol] for cells in rows], [cells[trial] for cells in rows])

    fitting = [
        format for format, columns in alike.items() if all(most(at, meaning) for at, meaning in enumerate(columns))
    ]
    if len(fitting) > 1:
        return next((format for format in fitting if in_key(alike[format])), fitting[0])
    usual = next(iter(alike))
    if role not in _ASKED:
        return fitting[0] if fitting else list(alike)[-1]
    at = alike[usual].index(_ASKED[role])
    other = _ASKED["key" if role == "scores" else "scores"]
    # Labels in the usual place of scores mean a key, even where names that are numbers fit another format by chance.
    explained = fitting and (role == "key" or alike[fitting[0]][at] == other)
    if usual not in fitting and not explained and most(at, other):
        raise InputError(f"column {at + 1} holds {_SWAPPED[role]} (expected {_expected(role)})", path=name, line=line)
    return fitting[0] if fitting else usual


def _most_hold(meaning: str, cells: Iterable[str], role: Role) -> bool:
    """Return whether at least half of the cells of a column are what such a column holds."""
    kinds = KINDS[role.removesuffix("_key")] if meaning == "key" else ()
    holds = {"score": text.is_number, "label": text.LABELS.__contains__, "key": kinds.__contains__}.get(meaning)
    column = list(cells)
    return holds is None or 2 * sum(map(holds, column)) >= len(column)


def _check_columns(layout: Layout, rows: Sequence[Sequence[str]], role: Role, name: str, line: int) -> None:
    """Refuse the wrong file of a tandem with one message, instead of one about each of its lines."""
    side = role.removesuffix("_key")
    for number, (meaning, cells) in enumerate(zip(layout.columns, zip(*rows, strict=True), strict=True), 1):
        if _most_hold(meaning, cells, role):
            continue
        content = f"no {side.upper()} key ({', '.join(KINDS[side])})" if meaning == "key" else "no numbers"
        labels = {cell for row in rows for cell in row}
        verifier = not labels.isdisjoint(("target", "nontarget"))
        advice = "; is this the key?" if meaning == "score" else ""
        if side == "cm" and verifier:
            advice = "; is this a verifier's file (--asv, --asv-key, --sasv)?"
        elif side == "asv" and "bonafide" in labels and not verifier:
            advice = "; is this a countermeasure's file (--cm, --key)?"
        reason = f"column {number} holds {content}; expected `{layout.expected}`{advice}"
        raise InputError(reason, path=name, line=line)
