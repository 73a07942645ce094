"""Tables of the score files of several systems: which file is whose, with its key, its people and its attacker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeGuard, get_args

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import TEXT, open_input
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.threat import ThreatModel, Training, threat_from_sides
from zeroevidence.errors import InputError

_FILES = ("scores", "key", "speakers")
_LABELS = ("system", "dataset", "split", "sex")
_SIDES = ("enrolment", "trial", "trained_on")
_COLUMNS = (*_FILES, *_LABELS, *_SIDES)
_REQUIRED = ("scores", "system")
_NAMES = ("systems.tsv", "systems.csv")


@dataclass(frozen=True, slots=True)
class SystemScores:
    """A line of such a table.

    Parameters
    ----------
    scores
        The score file.
    key
        Its key; None where the table names none.
    speakers
        Its list of speakers; None where the table names none.
    labels
        System, data set, split and sex, where they are given.
    threat
        The attacker; None where the table does not describe one.
    line
        Line of the table.
    """

    scores: Path
    key: Path | None
    speakers: Path | None
    labels: dict[str, str]
    threat: ThreatModel | None
    line: int


def find_systems(folder: str | Path) -> Path | None:
    """Return the table of systems that lies in a folder, None where there is none."""
    return next((table for name in _NAMES if (table := Path(folder) / name).is_file()), None)


def read_systems(path: str | Path) -> list[SystemScores]:
    r"""Return the lines of a table of systems, with tabs or commas between the columns.

    Parameters
    ----------
    path
        The table. Its columns are ``scores`` and ``system``, and where they are known ``key``, ``speakers``,
        ``dataset``, ``split``, ``sex``, and of the attacker ``enrolment``, ``trial`` and ``trained_on``, each
        ``original`` or ``anonymised``. Files are named by their paths within the folder of the table.

    Raises
    ------
    InputError
        When a column is missing or not known, a cell is not what it should be, or a file is not there.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.scores").write_text("ada u1 2.1 target\n")
    >>> _ = (folder / "systems.csv").write_text("scores,system,sex\na.scores,A,f\n")
    >>> [(row.scores.name, row.labels) for row in read_systems(folder / "systems.csv")]
    [('a.scores', {'system': 'A', 'sex': 'f'})]
    """
    source = open_input(path)
    if source.kind != TEXT:
        raise InputError(f"is a {source.kind} file; expected text", path=source.name)
    problems = FileProblems(source.name)
    rows: list[SystemScores] = []
    for number, cells in _cells(text.full_lines(source.read(), problems), problems):
        row = _row(cells, Path(path).parent, number)
        if isinstance(row, str):
            problems.add(number, row)
        else:
            rows.append(row)
    if not rows and not problems:
        problems.add(None, f"no lines; expected a heading with {' and '.join(_REQUIRED)}, and a line for each file")
    problems.check("")
    return rows


def _cells(lines: Iterator[tuple[int, str]], problems: FileProblems) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number and cells by column of each line below the heading."""
    columns: list[str] = []
    separator = ","
    for number, line in lines:
        if not columns:
            separator = "\t" if "\t" in line else ","
        cells = text.split(line, separator)
        if isinstance(cells, str):
            problems.add(number, cells)
        elif not columns:
            columns = cells
            if wrong := _wrong_heading(columns):
                problems.add(number, wrong)
                return
        elif len(cells) != len(columns):
            problems.add(number, f"{len(cells)} column(s); expected {len(columns)}: {', '.join(columns)}")
        else:
            yield number, {column: cell for column, cell in zip(columns, cells, strict=True) if cell}


def _wrong_heading(columns: list[str]) -> str:
    """Return what is wrong with the names of the columns; empty where nothing is."""
    unknown = next((column for column in columns if column not in _COLUMNS), None)
    if unknown is not None:
        return f"column {unknown!r}; expected {', '.join(_COLUMNS)}"
    missing = next((column for column in _REQUIRED if column not in columns), None)
    if missing is not None:
        return f"no column {missing!r}; found {', '.join(columns)}"
    twice = next((column for column in columns if columns.count(column) > 1), None)
    return "" if twice is None else f"column {twice!r} occurs twice; expected it once"


def _row(cells: dict[str, str], folder: Path, line: int) -> SystemScores | str:
    """Return a line as a value, or the reason why it is none."""
    missing = next((column for column in _REQUIRED if column not in cells), None)
    if missing is not None:
        return f"no {missing}; expected one on every line"
    files = {column: cells[column] for column in _FILES if column in cells}
    for column, name in files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            return f"{column} {name!r}; expected a path within the folder"
        if not (folder / name).exists():
            return f"{column} {name!r}: no such file in {folder}"
    sides = [cells.get(column, "") for column in _SIDES]
    if any(sides) and not all(map(_is_training, sides)):
        allowed = " or ".join(get_args(Training))
        return f"attacker {', '.join(sides)}; expected {allowed} for each of {', '.join(_SIDES)}, or nothing for all"
    places = {column: folder / name for column, name in files.items()}
    enrolment, trial, trained_on = sides
    threat = None
    if _is_training(enrolment) and _is_training(trial) and _is_training(trained_on):
        threat = threat_from_sides(enrolment, trial, trained_on)
    labels = {name: cells[name] for name in _LABELS if name in cells}
    return SystemScores(places["scores"], places.get("key"), places.get("speakers"), labels, threat, line)


def _is_training(word: str) -> TypeGuard[Training]:
    return word in get_args(Training)
