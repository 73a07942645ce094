"""The application: a form, jobs with their progress, and their reports."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from zeroevidence._version import __version__
from zeroevidence.report.html.page import policy as report_policy
from zeroevidence.report.html.page import template_text, templates
from zeroevidence.web import MAX_BYTES, TIMEOUT
from zeroevidence.web.connections import BriefErrors
from zeroevidence.web.guard import Body, Guard, TooLarge, TooSlow
from zeroevidence.web.job_process import FLAGS, MOST_PROBLEMS, JobRequest, ProblemList, Upload
from zeroevidence.web.jobs import JobQueue, ReportJob

_HERE = Path(__file__).parent / "templates"
_MOST_FILES = 64
_FORM_SLACK = 1 << 16  # bytes of a form beside its files


def make_app(home: Path, *, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT) -> Starlette:
    """Return the page; files are kept under `home`, which is deleted when the application shuts down.

    Parameters
    ----------
    home
        An empty folder that nobody else can read.
    max_bytes
        The most that one upload may hold, all files together.
    timeout
        Seconds after which a job is stopped.
    """
    page = _Page(JobQueue(home, timeout), max_bytes)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(BriefErrors())
        try:
            yield
        finally:
            await page.jobs.close()

    return Starlette(
        routes=[
            Route("/", page.index),
            Route("/upload/{csrf}", page.upload, methods=["POST"]),
            Route("/job/{token}", page.job),
            Route("/job/{token}/state", page.state),
            Route("/job/{token}/report", page.report),
            Route("/job/{token}/cancel/{csrf}", page.cancel, methods=["POST"]),
            Route("/job/{token}/forget/{csrf}", page.forget, methods=["POST"]),
        ],
        middleware=[Middleware(Guard)],
        exception_handlers={HTTPException: page.refused, Exception: page.broken},
        lifespan=lifespan,
    )


class _Page:
    """The routes, with the jobs and the secret that a form must carry."""

    def __init__(self, jobs: JobQueue, max_bytes: int) -> None:
        self.jobs = jobs
        self.max_bytes = max_bytes
        self.csrf = secrets.token_urlsafe(24)
        self._templates = templates(_HERE)
        self._script = (_HERE / "page.js").read_text(encoding="utf-8").strip()
        self._css = template_text("report.css") + "\n" + (_HERE / "page.css").read_text(encoding="utf-8").strip()
        self._policy = (
            report_policy(self._script).replace("form-action 'none'", "form-action 'self'")
            + "; connect-src 'self'; frame-ancestors 'none'"
        )

    def _render(self, name: str, status: int = 200, **context: Any) -> HTMLResponse:
        from markupsafe import Markup

        text = self._templates.get_template(name).render(
            css=Markup(self._css),
            script=Markup(self._script),
            csrf=self.csrf,
            version=__version__,
            megabytes=f"{self.max_bytes / 1e6:g}",
            max_bytes=self.max_bytes,
            timeout=f"{self.jobs.timeout:g}",
            **context,
        )
        return HTMLResponse(text, status, {"Content-Security-Policy": self._policy})

    async def index(self, _: Request) -> Response:
        """The form."""
        return self._render("index.html", title="How much do these recordings disclose?")

    async def upload(self, request: Request) -> Response:
        """Take the files and begin a job."""
        self._check(request)
        limit = self.max_bytes + _FORM_SLACK
        length = request.headers.get("content-length", "")
        body = Body(request.receive, limit)
        if self.jobs.full:
            await body.drain()
            raise HTTPException(503, "Too much work is waiting here; cancel some of it, or try again later.")
        try:
            if length.isdigit() and int(length) > limit:
                raise TooLarge
            async with Request(request.scope, body.receive).form(max_files=_MOST_FILES, max_fields=_MOST_FILES) as form:
                return await self._begin(form)
        except ClientDisconnect:  # the page was closed in the middle of an upload; nobody reads the answer
            return Response(status_code=400)
        except TooSlow:
            raise HTTPException(408, "The upload came too slowly and was cut off.", {"Connection": "close"}) from None
        except TooLarge:
            await body.drain()
            raise HTTPException(413, f"These files are larger than {self.max_bytes / 1e6:g} MB together.") from None

    async def _begin(self, form: FormData) -> Response:
        fields = {name: _files(form, name) for name in ("scores", "keys", "speakers", "dev", "dev_keys")}
        if not fields["scores"]:
            raise HTTPException(400, "No score file or result was chosen.")
        if len(fields["speakers"]) > 1:
            raise HTTPException(400, "Expected one file with the speakers.")
        folder = self.jobs.folder()
        stored: dict[str, Any] = {}
        number = itertools.count()
        try:
            for name, files in fields.items():
                stored[name] = tuple([await _store(file, folder, next(number)) for file in files])
            speakers = stored.pop("speakers")
            flags: dict[str, Any] = {flag: flag in form for flag in FLAGS}
            request = JobRequest(
                **stored,
                speakers=speakers[0] if speakers else None,
                title=str(form.get("title", ""))[:200].strip(),
                **flags,
            )
            job = self.jobs.start(folder, request, ", ".join(upload.name for upload in request.scores))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return RedirectResponse(f"/job/{job.token}", 303)

    async def job(self, request: Request) -> Response:
        """The progress, the problems, or links to the report."""
        job = self._job(request)
        listed = job.problems() if job.state == "problems" else ProblemList()
        facts: dict[str, Any] = {"problems": listed.problems, "count": listed.count, "most": MOST_PROBLEMS}
        return self._render("job.html", title=job.title, job=job, **facts)

    async def state(self, request: Request) -> Response:
        """Progress for the script of the page."""
        return JSONResponse(self._job(request).to_dict())

    async def report(self, request: Request) -> Response:
        """The report itself, to read or to save."""
        job = self._job(request)
        if job.state != "done":
            raise HTTPException(404, "There is no report here.")
        headers = {"Content-Security-Policy": report_policy(template_text("report.js")) + "; frame-ancestors 'none'"}
        if "save" in request.query_params:
            headers["Content-Disposition"] = 'attachment; filename="report.html"'
        return FileResponse(job.folder / "report.html", media_type="text/html; charset=utf-8", headers=headers)

    async def cancel(self, request: Request) -> Response:
        """Stop a job."""
        self._check(request)
        job = self._job(request)
        await self.jobs.cancel(job)
        return RedirectResponse(f"/job/{job.token}", 303)

    async def forget(self, request: Request) -> Response:
        """Delete a job with its files."""
        self._check(request)
        job = self._job(request)
        await self.jobs.cancel(job)
        self.jobs.forget(job)
        return RedirectResponse("/", 303)

    async def refused(self, _: Request, error: Exception) -> Response:
        """Answer a request that cannot be met."""
        assert isinstance(error, HTTPException)
        return self._render("refused.html", error.status_code, title="That did not work", message=error.detail)

    async def broken(self, _: Request, error: Exception) -> Response:  # noqa: ARG002
        """Answer after an error of the page, without its details."""
        return self._render(
            "refused.html", 500, title="That did not work", message="Something went wrong on this page."
        )

    def _job(self, request: Request) -> ReportJob:
        job = self.jobs.find(request.path_params["token"])
        if job is None:
            raise HTTPException(404, "There is nothing here, or it was deleted.")
        return job

    def _check(self, request: Request) -> None:
        if not secrets.compare_digest(request.path_params["csrf"].encode(), self.csrf.encode()):
            raise HTTPException(403, "This form is from an earlier run of the page; open the page again.")


async def _store(file: UploadFile, folder: Path, number: int) -> Upload:
    """Write an uploaded file under a generated name."""
    path = folder / f"{number}.upload"
    with path.open("xb") as stream:
        while part := await file.read(1 << 20):
            stream.write(part)
    return Upload(str(path), Path(file.filename or f"file {number}").name)


def _files(form: FormData, name: str) -> Sequence[UploadFile]:
    """Files that were chosen in a field; browsers send an empty one where none was chosen."""
    return [file for file in form.getlist(name) if isinstance(file, UploadFile) and (file.filename or file.size)]
