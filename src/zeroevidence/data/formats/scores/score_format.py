"""The table of score formats: what each is called, how its files are recognised, and how they are read.

A format is one module of this package that adds a `ScoreFormat` to `SCORE_FORMATS`. A text format says what its
columns are (`Columns`), or recognises its first lines (`FirstLines`); a binary one names the first bytes of its files
and reads them into a table of trials (`Binary`) or into a matrix of a search (`Matrix`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zeroevidence.data.formats.input_file import Container, InputFile
from zeroevidence.data.formats.lists.speakers import Speakers
from zeroevidence.data.formats.scores.reading.layout import Layout, Lines, Role
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.registry import Registry

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Columns:
    """Text without a header, recognised by how many columns there are and by what stands in them.

    Parameters
    ----------
    scores, key
        What each column holds: enrol, trial, score, label, enrol_speaker, trial_speaker, or "" for one that is
        ignored; () where no key looks like this.
    key_line
        A line of the key as messages show it, "" where they should not suggest one; made of the columns otherwise.
    """

    scores: tuple[str, ...]
    key: tuple[str, ...] = ()
    key_line: str | None = None

    def of(self, role: Role) -> tuple[str, ...]:
        """The columns of scores or of a key."""
        return self.scores if role == "scores" else self.key

    def line(self, role: Role) -> str:
        """A line in words."""
        if role == "key" and self.key_line is not None:
            return self.key_line
        words = {"": "...", "label": "target|nontarget"} if role == "key" else {"": "..."}
        return " ".join(words.get(column, column) for column in self.of(role))


@dataclass(frozen=True, slots=True)
class FirstLines:
    """Text that its first lines give away.

    Parameters
    ----------
    layout
        The layout that these numbered lines of the named file show, or None where they show another format.
    lacking
        What to tell somebody who asked for this format where the lines show another.
    read
        Content, name and role in, table out, for text that is not in columns (its `Layout` has none).
    """

    layout: Callable[[Lines, str], Layout | None]
    lacking: str
    read: Callable[[bytes, str, Role], Table] | None = None


@dataclass(frozen=True, slots=True)
class Binary:
    """Containers that hold single trials or their labels."""

    containers: tuple[Container, ...]
    read: Callable[[InputFile, Role], Table]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Containers that hold a whole search, trials x identities; the key, where there is one, is of the same format."""

    containers: tuple[Container, ...]
    read: Callable[[InputFile, InputFile | None, Speakers | None], ScoreMatrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFormat:
    """One format of score files.

    Parameters
    ----------
    name
        For ``--input-format``.
    words
        One line for help and documentation.
    text, binary, matrix
        How its files are recognised and read; a table may be text and binary.
    takes
        Whether such a file is of this format, where its container alone does not tell.
    identities
        Whether an enrolment names a person; otherwise both sides of a trial are utterances.
    place
        Where it stands in lists, and when its files are looked for; new ones come last.
    """

    name: str
    words: str
    text: Columns | FirstLines | None = None
    binary: Binary | None = None
    matrix: Matrix | None = None
    takes: Callable[[InputFile], bool] | None = None
    identities: bool = True
    place: int = 100

    @property
    def containers(self) -> tuple[Container, ...]:
        """The kinds of binary files that it reads."""
        single = () if self.binary is None else self.binary.containers
        return single if self.matrix is None else (*single, *self.matrix.containers)

    def container(self, file: InputFile) -> Container | None:
        """Which of its containers a file is, None for other files."""
        return next((container for container in self.containers if file.is_in(container)), None)

    def recognises(self, file: InputFile) -> bool:
        """Whether this binary file is of this format."""
        return self.container(file) is not None and (self.takes is None or self.takes(file))

    @property
    def files(self) -> str:
        """What its files are, for messages."""
        return f"{self.name} text" if self.text is not None else self.containers[0].title


SCORE_FORMATS: Registry[ScoreFormat] = Registry(
    "format", package="zeroevidence.data.formats.scores", order=lambda format: (format.place, format.name)
)


def format_names() -> tuple[str, ...]:
    """What ``--input-format`` takes: "auto", and every format that is registered."""
    return (AUTO, *SCORE_FORMATS)


def binary_format(file: InputFile, asked: str) -> ScoreFormat | None:
    """The format of a file that is not in columns, the one asked for where it reads such files; None for other text."""
    if asked != AUTO and SCORE_FORMATS[asked].container(file):
        return SCORE_FORMATS[asked]
    return next((format for format in SCORE_FORMATS.values() if format.recognises(file)), None)
