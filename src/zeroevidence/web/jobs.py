"""Jobs of the page: one at a time, each in a process and a folder of its own, under a random name."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zeroevidence.data.json_values import load_json, typed
from zeroevidence.web.outcome import OUTCOME, Outcome
from zeroevidence.web.process import PROBLEMS
from zeroevidence.web.request import BUNDLED, JobRequest, ProblemList, job_steps

State = Literal["waiting", "running", "done", "problems", "failed", "cancelled", "timed-out"]
MOST_JOBS = 16
_MODULE = "zeroevidence.web.process"
_SAMPLE_MODULE = "zeroevidence.sample.page_job"


@dataclass(slots=True)
class ReportJob:
    """One upload, its progress and its outcome."""

    token: str
    folder: Path
    title: str
    steps: list[str]
    module: str = _MODULE
    state: State = "waiting"
    message: str = "waiting for other jobs to finish"
    done: int = 0
    total: int = 0
    step: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state not in ("waiting", "running")

    def to_dict(self) -> dict[str, Any]:
        """Return the progress that the page polls."""
        return {name: getattr(self, name) for name in ("state", "message", "done", "total", "step", "over")}

    def problems(self) -> ProblemList:
        """Return what is wrong with the files."""
        path = self.folder / PROBLEMS
        return typed(ProblemList, load_json(path), path.name)

    def outcome(self) -> Outcome:
        """Return what the page shows of the result."""
        return Outcome.from_file(self.folder / OUTCOME)


class JobQueue:
    """All jobs; at most one runs at a time, and only the latest are kept."""

    def __init__(self, home: Path, timeout: float) -> None:
        self.home = home
        self.timeout = timeout
        self._jobs: dict[str, ReportJob] = {}
        self._turn = asyncio.Semaphore(1)
        self._drawing = asyncio.Semaphore(1)

    def folder(self) -> Path:
        """Return a new private folder for uploads."""
        folder = self.home / secrets.token_hex(16)
        folder.mkdir(mode=0o700)
        return folder

    @property
    def full(self) -> bool:
        """Whether so many jobs wait that no further one is accepted."""
        return sum(not job.over for job in self._jobs.values()) >= MOST_JOBS

    def find(self, token: str) -> ReportJob | None:
        """Return the job of that name."""
        return self._jobs.get(token)

    def start(self, folder: Path, request: JobRequest, title: str) -> ReportJob:
        """Begin a job on uploaded files."""
        (folder / "request.json").write_text(request.to_json(), encoding="utf-8")
        job = ReportJob(secrets.token_urlsafe(24), folder, title, job_steps(request))
        job.module = _SAMPLE_MODULE if request.kind in BUNDLED else _MODULE
        self._jobs[job.token] = job
        job.task = asyncio.create_task(self._run(job))
        for old in [job for job in self._jobs.values() if job.over][: max(0, len(self._jobs) - MOST_JOBS)]:
            self.forget(old)
        return job

    def forget(self, job: ReportJob) -> None:
        """Delete a finished job with its files."""
        self._jobs.pop(job.token, None)
        shutil.rmtree(job.folder, ignore_errors=True)

    async def draw(self, job: ReportJob, name: str) -> Path | None:
        """Return a file that the outcome of a job names, drawn where it is not there yet; None where that fails."""
        path = job.folder / name
        with contextlib.suppress(TimeoutError):
            async with self._drawing, asyncio.timeout(self.timeout):
                if not path.is_file():
                    await self._work(job, _MODULE, name)
        return path if path.is_file() else None

    async def cancel(self, job: ReportJob) -> None:
        """Stop a job that is not over."""
        if job.over or job.task is None:
            return
        job.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await job.task
        job.state, job.message = "cancelled", "cancelled"

    async def close(self) -> None:
        """Stop everything and delete every file."""
        for job in list(self._jobs.values()):
            await self.cancel(job)
            self.forget(job)
        shutil.rmtree(self.home, ignore_errors=True)

    async def _run(self, job: ReportJob) -> None:
        async with self._turn:
            job.state, job.message = "running", "starting"
            try:
                async with asyncio.timeout(self.timeout):
                    code = await self._work(job, job.module)
            except TimeoutError:
                job.state, job.message = "timed-out", f"stopped: it took longer than {self.timeout:g} seconds"
                return
        if code == 0 and (job.folder / OUTCOME).is_file():
            job.state, job.message = "done", "the report is ready"
        elif (job.folder / PROBLEMS).is_file():
            job.state, job.message = "problems", "there are problems with these files"
        else:
            reason = "the job ended unexpectedly; the same files with the command line show why"
            job.state, job.message = "failed", reason

    async def _work(self, job: ReportJob, module: str, *arguments: str) -> int:
        # -P: no folder is put on the import path, so an uploaded file can never be imported.
        started = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", module, str(job.folder), *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # a group of its own, which ends as a whole
                env={**os.environ, "TMPDIR": str(job.folder)},  # temporary speech is deleted with the job
            )
        )
        try:
            process = await asyncio.shield(started)
        except asyncio.CancelledError:  # in the middle of the start, where only the first process would end
            await _end(await started)
            raise
        assert process.stdout is not None
        try:
            async for line in process.stdout:
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError, OverflowError):
                    progress = json.loads(line)
                    job.done, job.total, job.step = (int(progress[name]) for name in ("done", "total", "step"))
                    job.message = str(progress["message"])
            return await process.wait()
        finally:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process with those that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
