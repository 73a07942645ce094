"""What one job does, in a process of its own: read the files, say what is wrong with them or write the report.

Run as ``python -m zeroevidence.web.work FOLDER``. The folder holds ``request.json`` and the uploaded files under
generated names. Progress goes to standard output, a JSON object per line; the outcome to ``report.html`` or
``problems.json``. The process ends when its standard input closes, so that it does not outlive the server.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.errors import InputError, Problem, UsageError, ZeroEvidenceError

MOST_PROBLEMS = 500


@dataclass(frozen=True, slots=True)
class Upload:
    """One file: where it lies, and what the user calls it."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Request:
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

    def uploads(self) -> list[Upload]:
        """All files."""
        return [*self.scores, *self.keys, *([self.speakers] if self.speakers else []), *self.dev, *self.dev_keys]

    def to_json(self) -> str:
        """The request as text."""

        def plain(value: Any) -> Any:
            if isinstance(value, Upload):
                return [value.path, value.name]
            return [plain(one) for one in value] if isinstance(value, tuple) else value

        return json.dumps({name: plain(getattr(self, name)) for name in Request.__slots__})

    @classmethod
    def from_json(cls, text: str) -> Request:
        """The request that `to_json` wrote."""
        given = json.loads(text)
        for name in ("scores", "keys", "dev", "dev_keys"):
            given[name] = tuple(Upload(*one) for one in given[name])
        given["speakers"] = None if given["speakers"] is None else Upload(*given["speakers"])
        return cls(**given)

    def problems(self, found: Sequence[Problem]) -> list[dict[str, Any]]:
        """Problems with the names that the user knows in the place of ours."""
        return [
            {"file": self.named(one.path), "line": one.line, "reason": self.named(one.reason)}
            for one in found[:MOST_PROBLEMS]
        ]

    def named(self, text: str) -> str:
        """Text in which files have the names that the user gave them."""
        for upload in self.uploads():
            text = text.replace(upload.path, upload.name)
        return text


def main(folder: str) -> int:
    """Do the job of a folder."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    home = Path(folder)
    request = Request.from_json((home / "request.json").read_text(encoding="utf-8"))
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
        problems = [Problem("", None, "these files need more memory than this machine has")]
    document = {"count": len(problems), "problems": request.problems(problems)}
    (home / "problems.json").write_text(json.dumps(document), encoding="utf-8")
    return InputError.exit_code


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


def _sources(request: Request) -> tuple[list[Upload], list[Upload]]:
    results = [one for one in request.scores if _is_result(one)]
    raw = [one for one in request.scores if one not in results]
    return results, raw


def _key(keys: Sequence[Upload], index: int, wanted: int, what: str) -> str | None:
    if len(keys) not in (0, 1, wanted):
        raise UsageError(f"expected one key, or one for each of the {wanted} {what}, got {len(keys)}")
    return None if not keys else keys[index if len(keys) == wanted else 0].path


def _reading(request: Request) -> dict[str, Any]:
    return {
        "duplicates": "keep-last" if request.keep_last else "error",
        "allow_missing": request.allow_missing,
    }


def _problems(request: Request) -> list[Problem]:
    """Everything that is wrong with the score files and keys, as `doctor` says it."""
    from zeroevidence.data.formats import diagnose

    _, raw = _sources(request)
    speakers = None if request.speakers is None else request.speakers.path
    found = []
    files = [(raw, request.keys, speakers, "score files"), (request.dev, request.dev_keys, None, "development files")]
    for uploads, keys, who, what in files:
        for index, upload in enumerate(uploads):
            _tell(f"reading {upload.name}", 0, 0)
            key = _key(keys, index, len(uploads), what)
            found += diagnose(upload.path, key, speakers=who, **_reading(request))
    return found


def _report(request: Request) -> str:
    from zeroevidence.data.formats import Loaded, read_scores
    from zeroevidence.evaluation import Options
    from zeroevidence.report.html import to_html
    from zeroevidence.report.material import Material, evaluate_files

    results, raw = _sources(request)
    material = Material()
    for upload in results:
        material.add_result(upload.path)
    if request.dev and len(request.dev) not in (1, len(raw)):
        raise UsageError(f"expected one development file, or one for each score file, got {len(request.dev)}")
    speakers = None if request.speakers is None else request.speakers.path
    how = _reading(request)

    def read(index: int) -> tuple[Loaded, Loaded | None]:
        key = _key(request.keys, index, len(raw), "score files")
        loaded = read_scores(raw[index].path, key, speakers=speakers, **how)
        if not request.dev:
            return loaded, None
        at = index if len(request.dev) == len(raw) else 0
        dev_key = _key(request.dev_keys, at, len(request.dev), "development files")
        return loaded, read_scores(request.dev[at].path, dev_key, **how)

    if raw:
        labels = [{"system": name} for name in _titles(raw)]

        def progress(index: int) -> Any:
            return lambda done, total: _tell(f"measuring {raw[index].name}", done, total)

        material.add_rows(evaluate_files(read, labels, Options(), progress=progress))
    _tell("drawing the report", 0, 0)
    return to_html(
        material.rows,
        title=request.title or None,
        cards=material.cards,
        comparisons=material.comparisons,
        hide=request.hide,
    )


def _titles(uploads: Sequence[Upload]) -> list[str]:
    """File names without their ending, numbered where two are the same."""
    stems = [Path(upload.name).stem or upload.name for upload in uploads]
    return [stem if stems.count(stem) == 1 else f"{stem} ({number})" for number, stem in enumerate(stems, 1)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
