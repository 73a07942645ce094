"""Process of one job: read the files, list their problems, or write the report and what the page shows of it."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from zeroevidence.errors import InputError, Problem, ZeroEvidenceError
from zeroevidence.web.request import BUNDLED, JobProgress, JobRequest, Kind, job_steps, speech_places

if TYPE_CHECKING:
    from zeroevidence.run import Run
    from zeroevidence.web.outcome import Findings

    Bundled: TypeAlias = Callable[[Kind, Path, Run], Findings]

MOST_MEMORY = 8 << 30  # bytes of addresses that a job may take
PROBLEMS = "problems.json"


def main(folder: str, drawn: str | None = None, *, bundled: Bundled | None = None) -> int:
    """Do the job of a folder, or draw a file of a finished one, and return the exit code.

    The folder holds ``request.json`` and the uploaded files under generated names. Progress goes to standard output, a
    JSON object per line; the outcome to ``outcome.json`` and the files that it names, or to ``problems.json``. The
    process ends, with those that it started, when its standard input closes, so that it does not outlive the server.

    Parameters
    ----------
    folder
        The folder of the job.
    drawn
        A file of figures that the outcome of the job names, to be drawn.
    bundled
        Audits the bundled speech, for jobs that ask for it.
    """
    guard_process()
    home = Path(folder)
    if drawn is not None:
        from zeroevidence.web.outcome import draw_file

        draw_file(home, drawn)
        return 0
    request = JobRequest.from_file(home / "request.json")
    try:
        problems = _do(request, home, bundled)
    except InputError as error:
        problems = [error.problem]
    except ZeroEvidenceError as error:
        problems = [Problem("", None, str(error))]
    except MemoryError:
        problems = [Problem("", None, f"these files need more memory than {MOST_MEMORY >> 30} GiB")]
    if not problems:
        return 0
    (home / PROBLEMS).write_text(json.dumps(asdict(request.problems(problems, speech_places(home)))), encoding="utf-8")
    return InputError.exit_code


def _do(request: JobRequest, home: Path, bundled: Bundled | None) -> list[Problem]:
    """Do what is asked for; return the problems that stand in the way, none where it is done."""
    from zeroevidence.web.outcome import write_outcome

    progress = JobProgress(job_steps(request))
    run = progress.run(home)
    if request.kind in BUNDLED:
        assert bundled is not None
        findings = bundled(request.kind, home, run)
    elif request.kind == "scores":
        from zeroevidence.web.score_files import evaluate_scores, score_problems

        problems = score_problems(request, run)
        if problems:
            return problems
        findings = evaluate_scores(request, run)
    else:
        from zeroevidence.web.audits import anonymise_speech, audit_embeddings, audit_speech, place_speech

        if request.kind == "anonymise":
            anonymise_speech(request, place_speech(request, home, run), home, progress)
            return []
        if request.kind == "speech":
            speech = place_speech(request, home, run)
            try:
                findings = audit_speech(speech, home, run)
            except InputError as error:  # the first of perhaps many problems
                return speech.problems() or [error.problem]
        else:
            findings = audit_embeddings(request, home, run)
    write_outcome(findings, request, home, progress)
    return []


def guard_process() -> None:
    """Let this process end with its server, and take no more memory than a job may."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    _limit_memory()


def _limit_memory() -> None:
    """Limit the memory of this process, and of each that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def _end_with_server() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock would still be held when this process ends by itself
        pass
    if os.getpgrp() == os.getpid():  # the server started it so: whatever it has started ends with it
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
