"""Process of one job: read the files, list the problems with them or write the report.

Run as ``python -m zeroevidence.web.job_process FOLDER``. The folder holds ``request.json`` and the uploaded files under
generated names. Progress goes to standard output, a JSON object per line; the outcome to ``report.html`` or
``problems.json``. The process ends when its standard input closes, so that it does not outlive the server.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.json_values import load_json, typed
from zeroevidence.data.preparing.scale import Scale
from zeroevidence.errors import InputError, Problem, ZeroEvidenceError
from zeroevidence.evaluation.reading.score_files import Reading, ScoreFile, evaluate_files, score_files
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.report.document import document
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.uncertainty.resampling.draws import Progress
from zeroevidence.web.messages import on_the_page

MOST_MEMORY = 8 << 30  # bytes that a job may take
MOST_PROBLEMS = 500


@dataclass(frozen=True, slots=True)
class Upload:
    """One file: its path, and the name that the user gave it."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class ProblemList:
    """Problems with the files: their number, and the first of them by file, line and reason."""

    count: int = 0
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Files and settings of a job."""

    scores: tuple[Upload, ...]
    keys: tuple[Upload, ...] = ()
    speakers: Upload | None = None
    dev: tuple[Upload, ...] = ()
    dev_keys: tuple[Upload, ...] = ()
    title: str = ""
    hide: bool = False
    allow_missing: bool = False
    keep_last: bool = False
    negate: bool = False
    log10: bool = False
    infinite: bool = False

    def uploads(self) -> list[Upload]:
        """All files."""
        return [*self.scores, *self.keys, *([self.speakers] if self.speakers else []), *self.dev, *self.dev_keys]

    def to_json(self) -> str:
        """The request as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_file(cls, path: Path) -> JobRequest:
        """The request that `to_json` wrote."""
        with reading_file(path, "a request"):
            return typed(cls, load_json(path), "request")

    def problems(self, problems: Sequence[Problem]) -> ProblemList:
        """Return problems with the user's names of files and the fields of the page."""
        listed = (
            Problem(self.with_names(problem.path), problem.line, on_the_page(self.with_names(problem.reason)))
            for problem in problems[:MOST_PROBLEMS]
        )
        return ProblemList(len(problems), tuple(listed))

    def with_names(self, text: str) -> str:
        """Return text in which files have the names that the user gave them."""
        for upload in self.uploads():
            text = text.replace(upload.path, upload.name)
        return text


FLAGS = tuple(field.name for field in fields(JobRequest) if field.default is False)


def main(folder: str) -> int:
    """Do the job of a folder, and return the exit code."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    _limit_memory()
    home = Path(folder)
    request = JobRequest.from_file(home / "request.json")
    try:
        problems = _problems(request)
        if not problems:
            _report_progress("drawing the report")
            (home / "report.html").write_text(_report(request), encoding="utf-8")
            return 0
    except InputError as error:
        problems = [error.problem]
    except ZeroEvidenceError as error:
        problems = [Problem("", None, str(error))]
    except MemoryError:
        problems = [Problem("", None, f"these files need more memory than {MOST_MEMORY >> 30} GiB")]
    (home / "problems.json").write_text(json.dumps(asdict(request.problems(problems))), encoding="utf-8")
    return InputError.exit_code


def _limit_memory() -> None:
    """Limit the memory of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def _end_with_server() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock would still be held when this process ends by itself
        pass
    os._exit(1)


def _report_progress(message: str, done: int = 0, total: int = 0) -> None:
    print(json.dumps({"message": message, "done": done, "total": total}), flush=True)


def _is_result(upload: Upload) -> bool:
    """Whether a file is a finished result: it starts as JSON, whatever it is called."""
    with Path(upload.path).open("rb") as stream:
        return stream.read(64).lstrip().startswith(b"{")


def _sources(request: JobRequest) -> tuple[list[Upload], list[Upload]]:
    """Finished results, and score files."""
    results = [upload for upload in request.scores if _is_result(upload)]
    return results, [upload for upload in request.scores if upload not in results]


def _score_files(request: JobRequest) -> list[ScoreFile]:
    """The score files with their keys and development files."""
    _, raw = _sources(request)
    if not raw:
        return []
    return score_files(
        _paths(raw),
        _paths(request.keys),
        speakers=None if request.speakers is None else request.speakers.path,
        systems=_titles(raw),
        dev=_paths(request.dev),
        dev_keys=_paths(request.dev_keys),
    )


def _paths(uploads: Sequence[Upload]) -> list[str]:
    return [upload.path for upload in uploads]


def _reading(request: JobRequest) -> Reading:
    scale = Scale(request.negate, "10" if request.log10 else "e")
    return Reading(
        duplicates="keep-last" if request.keep_last else "error",
        allow_missing=request.allow_missing,
        scale=scale,
        infinite="accept" if request.infinite else "refuse",
    )


def _problems(request: JobRequest) -> list[Problem]:
    """Return all problems with the score files and keys, as `doctor` lists them."""
    files = _score_files(request)
    # Several score files may share a development file.
    development = {file.dev.scores: file.dev for file in files if file.dev is not None}
    problems: list[Problem] = []
    for file in (*files, *development.values()):
        _report_progress(f"reading {request.with_names(file.scores)}")
        problems += _reading(request).problems(file)
    return problems


def _report(request: JobRequest) -> str:
    material = ReportInputs()
    results, raw = _sources(request)
    for upload in results:
        material.add_result(upload.path)

    def progress(number: int) -> Progress:
        return lambda done, total: _report_progress(f"measuring {raw[number].name}", done, total)

    rows = evaluate_files(_score_files(request), _reading(request), progress=progress)
    material.add_rows([replace(row, flags=tuple(map(_for_page, row.flags))) for row in rows])
    _report_progress("drawing the report")
    return document(material, title=request.title or None, hide=request.hide)


def _for_page(flag: Flag) -> Flag:
    return replace(flag, sentence=on_the_page(flag.sentence))


def _titles(uploads: Sequence[Upload]) -> list[str]:
    """File names without their ending, numbered where two are the same."""
    stems = [Path(upload.name).stem or upload.name for upload in uploads]
    return [stem if stems.count(stem) == 1 else f"{stem} ({number})" for number, stem in enumerate(stems, 1)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
