"""What one job does, in a process of its own: read the files, say what is wrong with them or write the report.

Run as ``python -m zeroevidence.web.job_process FOLDER``. The folder holds ``request.json`` and the uploaded files under
generated names. Progress goes to standard output, a JSON object per line; the outcome to ``report.html`` or
``problems.json``. The process ends when its standard input closes, so that it does not outlive the server.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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
    """One file: where it lies, and what the user calls it."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class ProblemList:
    """What is wrong with the files: how much in all, and the first of it by file, line and reason."""

    count: int = 0
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What was asked for."""

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

    def problems(self, found: Sequence[Problem]) -> ProblemList:
        """Problems with the names that the user knows in the place of ours."""
        told = (
            Problem(self.named(one.path), one.line, on_the_page(self.named(one.reason)))
            for one in found[:MOST_PROBLEMS]
        )
        return ProblemList(len(found), tuple(told))

    def named(self, text: str) -> str:
        """Text in which files have the names that the user gave them."""
        for upload in self.uploads():
            text = text.replace(upload.path, upload.name)
        return text


def main(folder: str) -> int:
    """Do the job of a folder."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    _limit_memory()
    home = Path(folder)
    request = JobRequest.from_file(home / "request.json")
    try:
        problems = _problems(request)
        if not problems:
            _tell("drawing the report", 0, 0)
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
    """Refuse what one job alone would take from everything else on the machine."""
    try:
        import resource
    except ImportError:
        return  # Windows has no such limit
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def _end_with_server() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock would still be held when this process ends by itself
        pass
    os._exit(1)


def _tell(words: str, done: int, total: int) -> None:
    print(json.dumps({"words": words, "done": done, "total": total}), flush=True)


def _is_result(upload: Upload) -> bool:
    """Whether a file is a finished result: it starts as JSON, whatever it is called."""
    with Path(upload.path).open("rb") as stream:
        return stream.read(64).lstrip().startswith(b"{")


def _sources(request: JobRequest) -> tuple[list[Upload], list[Upload]]:
    """Finished results, and score files."""
    results = [one for one in request.scores if _is_result(one)]
    raw = [one for one in request.scores if one not in results]
    return results, raw


def _score_files(request: JobRequest) -> list[ScoreFile]:
    """The score files with their keys and development files."""
    _, raw = _sources(request)
    if not raw:
        return []
    return score_files(
        [one.path for one in raw],
        [one.path for one in request.keys],
        speakers=None if request.speakers is None else request.speakers.path,
        systems=_titles(raw),
        dev=[one.path for one in request.dev],
        dev_keys=[one.path for one in request.dev_keys],
    )


def _reading(request: JobRequest) -> Reading:
    scale = Scale(request.negate, "10" if request.log10 else "e")
    return Reading(
        duplicates="keep-last" if request.keep_last else "error",
        allow_missing=request.allow_missing,
        scale=scale,
        infinite="accept" if request.infinite else "refuse",
    )


def _problems(request: JobRequest) -> list[Problem]:
    """Everything that is wrong with the score files and keys, as `doctor` says it."""
    files = _score_files(request)
    # Several score files may share a development file.
    development = {one.dev.scores: one.dev for one in files if one.dev is not None}
    found = []
    for file in (*files, *development.values()):
        _tell(f"reading {request.named(file.scores)}", 0, 0)
        found += _reading(request).problems(file)
    return found


def _report(request: JobRequest) -> str:
    material = ReportInputs()
    results, raw = _sources(request)
    for upload in results:
        material.add_result(upload.path)

    def progress(number: int) -> Progress:
        return lambda done, total: _tell(f"measuring {raw[number].name}", done, total)

    rows = evaluate_files(_score_files(request), _reading(request), progress=progress)
    material.add_rows([replace(row, flags=tuple(map(_flag, row.flags))) for row in rows])
    _tell("drawing the report", 0, 0)
    return document(material, title=request.title or None, hide=request.hide)


def _flag(one: Flag) -> Flag:
    return replace(one, sentence=on_the_page(one.sentence))


def _titles(uploads: Sequence[Upload]) -> list[str]:
    """File names without their ending, numbered where two are the same."""
    stems = [Path(upload.name).stem or upload.name for upload in uploads]
    return [stem if stems.count(stem) == 1 else f"{stem} ({number})" for number, stem in enumerate(stems, 1)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
