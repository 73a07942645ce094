"""Files and settings of a job, as the server hands them to the process that does it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.json_values import load_json, typed
from zeroevidence.errors import Problem
from zeroevidence.web import MAX_BYTES
from zeroevidence.web.messages import on_the_page

Kind: TypeAlias = Literal["scores", "speech", "embeddings", "sample", "cascade"]
BUNDLED: tuple[Kind, ...] = ("sample", "cascade")  # kinds for which nothing is sent
MOST_PROBLEMS = 500


@dataclass(frozen=True, slots=True)
class Upload:
    """One file: its path, and the name that the user gave it; in a folder the name is a path below that folder."""

    path: str
    name: str

    @property
    def stem(self) -> str:
        """The name without folders and ending."""
        last = PurePosixPath(self.name.replace("\\", "/"))
        return last.stem or last.name

    @property
    def folder(self) -> str:
        """The first folder of the name, or the name of a file that lies in none without its ending."""
        first, slash, _ = self.name.replace("\\", "/").partition("/")
        return first if slash else self.stem


@dataclass(frozen=True, slots=True)
class ProblemList:
    """Problems with the files: their number, and the first of them by file, line and reason."""

    count: int = 0
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Files and settings of a job.

    Parameters
    ----------
    scores
        Score files and finished results.
    keys
        Keys of the score files.
    speakers
        Who speaks: for score files, and for embeddings that do not name their speakers.
    dev
        Development scores.
    dev_keys
        Keys of the development scores.
    kind
        What is asked for: the evaluation of score files, an audit of recordings or of embeddings, or of
        bundled speech: under two changes of the voice (``sample``), or read by another voice (``cascade``).
    original
        Original recordings, a zip file or the files of a folder; or one file of embeddings.
    anonymised
        The same, anonymised.
    second
        The same, anonymised by a second system; empty where there is none.
    title
        Heading of the report.
    hide
        Whether people are written as numbers.
    allow_missing
        Whether trials that scores and key have in common are enough.
    keep_last
        Whether the later of two scores of one pair is taken.
    negate
        Whether higher scores speak against the same person.
    log10
        Whether scores are log10 likelihood ratios.
    infinite
        Whether infinite scores are taken.
    most_bytes
        The most that recordings may unpack to.
    """

    scores: tuple[Upload, ...] = ()
    keys: tuple[Upload, ...] = ()
    speakers: Upload | None = None
    dev: tuple[Upload, ...] = ()
    dev_keys: tuple[Upload, ...] = ()
    kind: Kind = "scores"
    original: tuple[Upload, ...] = ()
    anonymised: tuple[Upload, ...] = ()
    second: tuple[Upload, ...] = ()
    title: str = ""
    hide: bool = False
    allow_missing: bool = False
    keep_last: bool = False
    negate: bool = False
    log10: bool = False
    infinite: bool = False
    most_bytes: int = MAX_BYTES

    @property
    def systems(self) -> list[tuple[Upload, ...]]:
        """The anonymised speech or embeddings of each system."""
        return [files for files in (self.anonymised, self.second) if files]

    def uploads(self) -> list[Upload]:
        """All files."""
        lists = (self.scores, self.keys, self.dev, self.dev_keys, self.original, self.anonymised, self.second)
        return [*(upload for files in lists for upload in files), *([self.speakers] if self.speakers else [])]

    def to_json(self) -> str:
        """The request as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_file(cls, path: Path) -> JobRequest:
        """The request that `to_json` wrote."""
        with reading_file(path, "a request"):
            return typed(cls, load_json(path), "request")

    def problems(self, problems: Sequence[Problem], places: Mapping[str, str] | None = None) -> ProblemList:
        """Return problems with the user's names of files and the fields of the page.

        Parameters
        ----------
        problems
            As readers found them.
        places
            What paths of folders stand for, where recordings were put into some.
        """
        names = {**(places or {}), **{upload.path: upload.name for upload in self.uploads()}}
        listed = (
            Problem(with_names(problem.path, names), problem.line, on_the_page(with_names(problem.reason, names)))
            for problem in problems[:MOST_PROBLEMS]
        )
        return ProblemList(len(problems), tuple(listed))


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return text in which files have the names that the user gave them, by their paths here."""
    for path, name in names.items():
        if path in text:
            text = text.replace(path, name)
    return text


def titles(names: Sequence[str]) -> list[str]:
    """Return names of systems, numbered where two are the same."""
    return [name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]


FLAGS = tuple(field.name for field in fields(JobRequest) if field.default is False)
