"""Formats of score files: what each is called, how its files are recognised, and how they are read.

A format is one module of this package that adds a `ScoreFormat` to `SCORE_FORMATS`. A text format declares its columns
(`Columns`) or recognises its first lines (`FirstLines`); a binary one names the first bytes of its files and reads them
into a table of trials (`Binary`) or into the matrix of a search (`Matrix`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from zeroevidence._typing import BoolArray
from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.input_file import Container, InputFile
from zeroevidence.data.formats.lists import SpeakerList, read_sessions
from zeroevidence.data.formats.scores.layout import ColumnNames, Layout, Lines, Role, Table
from zeroevidence.data.loaded_scores import LlrUnit, LoadedScores, Scale
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing import ALLOW_SAME, leave_out_same_session
from zeroevidence.errors import UsageError
from zeroevidence.registry import Registry
from zeroevidence.run import setting

Duplicates: TypeAlias = Literal["error", "keep-last", "keep-all"]  # the last of tandems only
Infinite: TypeAlias = Literal["refuse", "accept"]
Failures: TypeAlias = Literal["refuse", "fta"]
FailingMatrix: TypeAlias = tuple[ScoreMatrix, BoolArray]  # and which of its scores are NaN, for which it has 1

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
    read: Callable[[InputFile, InputFile | None, SpeakerList | None], FailingMatrix]


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
    return (AUTO, *(name for name, format in SCORE_FORMATS.items() if any(map(format.holds, roles or ("scores",)))))


def binary_format(file: InputFile, asked: str) -> ScoreFormat | None:
    """Return the format of a file that is not in columns, the one asked for where it fits; None for other text."""
    if asked != AUTO and SCORE_FORMATS[asked].container(file):
        return SCORE_FORMATS[asked]
    return next((format for format in SCORE_FORMATS.values() if format.recognises(file)), None)


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How score files are read, and what is changed in their scores.

    Parameters
    ----------
    format
        How to understand the scores, one of `format_names`.
    duplicates
        "keep-last" takes the later score of a pair that occurs twice; "keep-all", of tandems only, counts each line of
        files that carry their own labels.
    allow_missing
        Evaluate what scores and key have in common.
    score_column
        Name of the column of scores, for a table whose columns have other names than usual.
    label_column
        Name of the column of labels, in the key where there is one.
    trial_columns
        Names of columns of a table that tell trials apart, beside the names of both sides.
    infinite
        "accept" takes infinite scores, which LLRs may be.
    failures
        "fta" counts NaN as failures to acquire, and leaves them out.
    negate
        Whether higher scores speak against the target.
    llr
        The unit of scores that are likelihood ratios; as their column is called unless given.
    speakers
        A Kaldi ``utt2spk`` file, or a folder that holds one.
    speaker_of
        Regular expression that finds the speaker in an identifier, instead of lists and columns.
    allow_same
        Take targets that compare a recording with itself, by its name.
    sessions
        List of the sessions of enrolments and trials; pairs of one session are left out.

    Examples
    --------
    >>> from zeroevidence import ReadingOptions
    >>> ReadingOptions(duplicates="keep-last").allow_missing
    False
    """

    format: str = setting(AUTO, "Format of the score files.", spelling="--input-format", choices=format_names)
    duplicates: Duplicates = setting(
        "error", "What to do with a trial that is scored twice.", choices=("error", "keep-last")
    )
    allow_missing: bool = setting(False, "Evaluate the trials that scores and key have in common, instead of refusing.")
    score_column: str | None = setting(
        None, "Column of a table that holds the scores; recognised by its name unless given.", metavar="NAME"
    )
    label_column: str | None = setting(
        None, "Column of a table that holds the labels; of the key where there is one.", metavar="NAME"
    )
    trial_columns: tuple[str, ...] = setting(
        (),
        "Columns of a table, separated by commas, that tell trials apart beside their names; of the key, too.",
        metavar="NAMES",
        parse=lambda texts: tuple(name for text in texts for name in text.split(",")),
    )
    infinite: Infinite = setting("refuse", "What to do with infinite scores, which LLRs may be.")
    failures: Failures = setting(
        "refuse", "What to do with scores that are NaN; fta: they are failures to acquire, counted and left out."
    )
    negate: bool = setting(False, "Negate the scores, where lower scores support the target.")
    llr: LlrUnit | None = setting(
        None, "The scores are likelihood ratios in this unit; those of a column called LR or log10LR are anyway."
    )
    speakers: str | Path | None = None
    speaker_of: str | None = setting(
        None,
        "Regular expression that finds the speaker in every identifier, by its first group: 'id([0-9]+)'; instead of "
        "lists and columns of speakers.",
        metavar="REGEX",
    )
    allow_same: bool = setting(False, ALLOW_SAME)
    sessions: str | None = setting(
        None,
        "Leave out pairs of one recording session: lines of `identifier session`, a line for every session of an "
        "enrolment or trial.",
        metavar="FILE",
    )

    def check(self, formats: Sequence[str], duplicates: Sequence[Duplicates]) -> None:
        """Refuse values that are not among those of some files."""
        if self.format not in formats:
            raise UsageError(f"unknown format {self.format!r}; expected one of {', '.join(formats)}")
        for subject, value, rules in (
            ("duplicates", self.duplicates, duplicates),
            ("infinite scores", self.infinite, get_args(Infinite)),
            ("failures", self.failures, get_args(Failures)),
        ):
            if value not in rules:
                raise UsageError(f"unknown rule for {subject} {value!r}; expected {' or '.join(rules)}")

    @property
    def speaker_rule(self) -> re.Pattern[str] | None:
        """The rule that finds speakers in identifiers."""
        try:
            return None if self.speaker_of is None else re.compile(self.speaker_of)
        except re.error as error:
            raise UsageError(f"--speaker-of {self.speaker_of!r}: {error}; expected a regular expression") from None

    @property
    def names(self) -> ColumnNames:
        """The names of columns that the user gave."""
        return ColumnNames(self.score_column, self.label_column, self.trial_columns)

    def applied(self, loaded: LoadedScores) -> LoadedScores:
        """Return scores that are higher for targets, without pairs of one session."""
        scaled = Scale(self.negate).apply(loaded)
        if self.sessions is None:
            return scaled
        with naming_file(self.sessions):
            return leave_out_same_session(scaled, read_sessions(self.sessions))
