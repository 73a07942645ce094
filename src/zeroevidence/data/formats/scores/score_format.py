"""Formats of score files: what each is called, how its files are recognised, and how they are read.

A format is one module of this package that adds a `ScoreFormat` to `SCORE_FORMATS`. A text format declares its columns
(`Columns`) or recognises its first lines (`FirstLines`); a binary one names the first bytes of its files and reads them
into a table of trials (`Binary`) or into the matrix of a search (`Matrix`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from zeroevidence.data.formats.input_file import Container, InputFile
from zeroevidence.data.formats.lists import SpeakerList
from zeroevidence.data.formats.scores.layout import Layout, Lines, Role, Table
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.registry import Registry

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Columns:
    """Text without a header, recognised by the number of columns and by their content.

    Parameters
    ----------
    scores
        What each column of scores holds: enrol, trial, score, label, enrol_speaker, trial_speaker, or "" for one that
        is ignored; () where no scores look like this.
    key
        What each column of a key holds; () where no key looks like this.
    key_line
        A line of the key as messages show it, "" where they should not suggest one; made of the columns otherwise.
    tandem
        The same of the files of a tandem, which may also have the columns key, attack, speaker and phase, and further
        ones to divide results by.
    """

    scores: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    key_line: str | None = None
    tandem: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)

    def of(self, role: Role) -> tuple[str, ...]:
        """Return the columns of such a file; () where none looks like this."""
        return self.scores if role == "scores" else self.key if role == "key" else self.tandem.get(role, ())

    def line(self, role: Role) -> str:
        """Return a line as messages show it."""
        if role == "key" and self.key_line is not None:
            return self.key_line
        cells = {"": "...", "label": "target|nontarget"} if role == "key" else {"": "..."}
        return " ".join(cells.get(column, column) for column in self.of(role))


@dataclass(frozen=True, slots=True)
class FirstLines:
    """Text that is recognised by its first lines.

    Parameters
    ----------
    layout
        Returns the layout that these numbered lines of the named file show, or None where they show another format.
    lacking
        The message for a file that was to be read in this format and shows another.
    read
        Returns the table of a file, from content, name and role, for text that is not in columns (its `Layout` has
        none).
    roles
        What such files hold.
    """

    layout: Callable[[Lines, str], Layout | None]
    lacking: str
    read: Callable[[bytes, str, Role], Table] | None = None
    roles: tuple[Role, ...] = ("scores", "key")


@dataclass(frozen=True, slots=True)
class Binary:
    """Containers that hold single trials or their labels."""

    containers: tuple[Container, ...]
    read: Callable[[InputFile, Role], Table]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Containers that hold a whole search, trials x identities; the key, where there is one, is of the same format."""

    containers: tuple[Container, ...]
    read: Callable[[InputFile, InputFile | None, SpeakerList | None], ScoreMatrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFormat:
    """One format of score files.

    Parameters
    ----------
    name
        For ``--input-format``.
    description
        One line for help and documentation.
    text
        How its text files are recognised and read.
    binary
        Its binary files of single trials; a format may be both text and binary.
    matrix
        Its binary files of whole searches.
    takes
        Whether a file is of this format, where its container alone does not decide it.
    identities
        Whether an enrolment names a person; otherwise both sides of a trial are utterances.
    place
        Position in lists and in the order in which formats are tried; new ones come last.
    """

    name: str
    description: str
    text: Columns | FirstLines | None = None
    binary: Binary | None = None
    matrix: Matrix | None = None
    takes: Callable[[InputFile], bool] | None = None
    identities: bool = True
    place: int = 100

    def holds(self, role: Role) -> bool:
        """Return whether its files may be scores, or another part of an evaluation."""
        if isinstance(self.text, Columns):
            return bool(self.text.of(role))
        return role in ("scores", "key") if self.text is None else role in self.text.roles

    @property
    def containers(self) -> tuple[Container, ...]:
        """The kinds of binary files that it reads."""
        single = () if self.binary is None else self.binary.containers
        return single if self.matrix is None else (*single, *self.matrix.containers)

    def container(self, file: InputFile) -> Container | None:
        """Return which of its containers a file is, None for other files."""
        return next((container for container in self.containers if file.is_in(container)), None)

    def kind(self, file: InputFile) -> str:
        """Return the name of a file's container, also of one that only this format has."""
        container = self.container(file)
        return file.kind if container is None else container.name

    def recognises(self, file: InputFile) -> bool:
        """Return whether a binary file is of this format."""
        return self.container(file) is not None and (self.takes is None or self.takes(file))

    @property
    def files(self) -> str:
        """What messages call its files."""
        return f"{self.name} text" if self.text is not None else self.containers[0].title


SCORE_FORMATS: Registry[ScoreFormat] = Registry(
    "format", package="zeroevidence.data.formats.scores", order=lambda format: (format.place, format.name)
)


def format_names(*roles: Role) -> tuple[str, ...]:
    """Return what the option for the format takes: "auto", and every format of scores, or of one of these roles."""
    wanted = roles or ("scores",)
    return (AUTO, *(name for name, format in SCORE_FORMATS.items() if any(map(format.holds, wanted))))


def binary_format(file: InputFile, asked: str) -> ScoreFormat | None:
    """Return the format of a file that is not in columns, the one asked for where it fits; None for other text."""
    if asked != AUTO and SCORE_FORMATS[asked].container(file):
        return SCORE_FORMATS[asked]
    return next((format for format in SCORE_FORMATS.values() if format.recognises(file)), None)
