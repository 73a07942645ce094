"""A job as the server hands it to the process that does it: files, settings, messages, and steps."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from zeroevidence.data.files import reading_file
from zeroevidence.data.json_values import load_json, typed
from zeroevidence.errors import Problem
from zeroevidence.run import Run, Step
from zeroevidence.web import MAX_BYTES

# The longer spelling of an option first.
FIELDS = {
    "--key KEY": "the field “Key”",
    "--key": "the field “Key”",
    "--dev-key": "the field “Key of the development scores”",
    "--dev": "the field “Development scores”",
    "--speakers": "a file in the field “Who speaks”",
    "--allow-missing": "the box for trials in common, under “More about the data”",
    "--duplicates keep-last": "the box for pairs that are scored twice, under “More about the data”",
    "--duplicates": "the box for pairs that are scored twice, under “More about the data”",
    "--negate": "the box for scores that point the other way, under “More about the data”,",
    "--infinite accept": "the box for infinite scores, under “More about the data”,",
    "--infinite": "the box for infinite scores, under “More about the data”,",
    "--llr log10": "so with the box for log10 likelihood ratios, under “More about the data”,",
    "--llr log2": "so by multiplying them with ln 2",
    "--llr lr": "so with the box for likelihood ratios, under “More about the data”",
    "--llr": "the boxes for likelihood ratios, under “More about the data”,",
    "--effort standard": "the effort “standard” of `zeroevidence audit`",
    "--effort full": "the effort “full” of `zeroevidence audit`",
}
_OPTION = re.compile("|".join(map(re.escape, sorted(FIELDS, key=len, reverse=True))) + r"(?![a-z-])")
_OTHER_OPTION = re.compile(r"--([a-z][a-z-]+)")
_LISTING_COMMAND = re.compile(r" \(and (\d+) more; `zeroevidence [a-z -]+` lists them\)")


def on_the_page(text: str) -> str:
    """Return a message in which fields of the page stand for options of the command line.

    Examples
    --------
    >>> on_the_page("no labels; expected a key (--key KEY) or a label column")
    'no labels; expected a key (the field “Key”) or a label column'
    >>> on_the_page("expected --score-column with its name, or `zeroevidence tandem --cm FILE`")
    'expected the option “score-column” of the command line with its name, or `zeroevidence tandem --cm FILE`'
    """
    parts = re.split("(`zeroevidence [^`]*`)", _LISTING_COMMAND.sub(r" (and \1 more)", text))
    for place in range(0, len(parts), 2):  # commands stay as they are typed
        with_fields = _OPTION.sub(lambda match: FIELDS[match[0]], parts[place])
        parts[place] = _OTHER_OPTION.sub(r"the option “\1” of the command line", with_fields)
    return "".join(parts)


Kind: TypeAlias = Literal["scores", "speech", "embeddings", "anonymise", "sample", "cascade"]
BUNDLED: tuple[Kind, ...] = ("sample", "cascade")  # kinds for which nothing is sent
MOST_PROBLEMS = 500
SPEECH = "speech"  # folder of a job with those that recordings are put into


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
        What is asked for: the evaluation of score files, anonymised recordings, an audit of recordings or of
        embeddings, or of bundled speech: under two changes of the voice (``sample``), or read by another voice
        (``cascade``).
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
    ratios
        Whether scores are likelihood ratios.
    infinite
        Whether infinite scores are taken.
    most_bytes
        The most that recordings may unpack to.
    protect
        The protector that recordings are anonymised with.
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
    ratios: bool = False
    infinite: bool = False
    most_bytes: int = MAX_BYTES
    protect: str = ""

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
        listed = []
        for problem in problems[:MOST_PROBLEMS]:
            path, reason = (with_names(text, names) for text in (problem.path, problem.reason))
            listed.append(Problem(path, problem.line, on_the_page(reason)))
        return ProblemList(len(problems), tuple(listed))


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return text in which files have the names that the user gave them, by their paths here."""
    for path, name in names.items():
        if path in text:
            text = text.replace(path, name)
    return text


def speech_places(home: Path) -> Mapping[str, str]:
    """Return what messages leave out of the paths of recordings."""
    return {f"{home / SPEECH / str(number)}/": "" for number in range(3)}


def titles(names: Sequence[str]) -> list[str]:
    """Return names of systems, numbered where two are the same."""
    return [name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]


FLAGS = tuple(field.name for field in fields(JobRequest) if field.default is False)


READING, COMPARING, DRAWING = "Read the files", "Compare the systems", "Draw the report"
PACKING = "Pack the anonymised recordings"
WORK: dict[Kind, str] = {
    "scores": "Measure what the attackers learn",
    "speech": "Attack the recordings",
    "embeddings": "Attack the embeddings",
    "anonymise": "Anonymise the recordings",
    "sample": "Attack the bundled speech",
    "cascade": "Attack the bundled speech",
}
_PAUSE = 0.1  # seconds between two lines of one title


def job_steps(request: JobRequest) -> list[str]:
    """Return the steps of a job, in the order in which they are taken."""
    several = len(request.scores) > 1 or len(request.systems) > 1 or request.kind == "sample"
    reading = [] if request.kind in BUNDLED else [READING]
    last = PACKING if request.kind == "anonymise" else DRAWING
    return [*reading, WORK[request.kind], *([COMPARING] if several else []), last]


@dataclass(slots=True)
class JobProgress:
    """Writes the progress of a job; a step never comes before one that has begun.

    Parameters
    ----------
    steps
        The steps of the job.
    step
        The number of the current one.
    notes
        What is good to know about the work, for the page of the result.
    """

    steps: list[str]
    step: int = 0
    notes: list[str] = field(default_factory=list)
    _title: str = ""
    _written: float = 0.0

    def run(self, home: Path) -> Run:
        """Return a run that writes its progress, keeps its messages, and has its cache in the folder of the job."""
        return Run(cache=home / "cache", progress=self.progress, say=self.say)

    def progress(self, title: str, units: str = "") -> Step:  # noqa: ARG002
        """Begin a step of the job, or a part of one, and return what writes how far it is."""
        if title in self.steps:
            self.step = max(self.step, self.steps.index(title))
            self.write(title)
        return lambda done, total: self.write(title, done, total)

    def write(self, message: str, done: int = 0, total: int = 0) -> None:
        """Write what is done now, and how far it is; the same again only after a moment, and at its end."""
        now = time.monotonic()
        if message == self._title and done < total and now - self._written < _PAUSE:
            return
        self._title, self._written = message, now
        print(json.dumps({"message": message, "done": done, "total": total, "step": self.step}), flush=True)

    def say(self, sentence: str) -> None:
        """Keep a sentence for the page of the result, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)
