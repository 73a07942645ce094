"""The application: a form, jobs with their progress, and their reports."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from zeroevidence import __version__
from zeroevidence.data.folds import LEAST_PEOPLE
from zeroevidence.protect.voices import VOICE_PROTECTORS, Leaves
from zeroevidence.report.page import policy as report_policy
from zeroevidence.report.page import template_text, templates
from zeroevidence.web import MAX_BYTES, MOST_FILES, TIMEOUT
from zeroevidence.web.forms import HOSTS, Guard, SentForm, receive_form
from zeroevidence.web.jobs import JobQueue, ReportJob
from zeroevidence.web.outcome import ANONYMISED, FIGURES, REPORT, RESULT
from zeroevidence.web.request import FLAGS, MOST_PROBLEMS, JobRequest, Kind

_HERE = Path(__file__).parent / "templates"
_BUNDLED: dict[Kind, str] = {
    "sample": "Bundled speech under two protections",
    "cascade": "Bundled speech read by another voice",
}
_SIDES = {"original": "original", "anonymised": "anonymised", "second": ""}  # of speech; the last is not needed


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
        try:
            yield
        finally:
            await page.jobs.close()

    return Starlette(
        routes=[
            Route("/", page.index),
            Route("/upload/{csrf}", page.upload, methods=["POST"]),
            *(Route(f"/{kind}/{{csrf}}", partial(page.bundled, kind), methods=["POST"]) for kind in _BUNDLED),
            Route("/job/{token}", page.job),
            Route("/job/{token}/state", page.state),
            Route("/job/{token}/report", page.report),
            Route("/job/{token}/file/{name}", page.file),
            Route("/job/{token}/cancel/{csrf}", page.cancel, methods=["POST"]),
            Route("/job/{token}/forget/{csrf}", page.forget, methods=["POST"]),
        ],
        middleware=[Middleware(Guard), Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)],
        exception_handlers={HTTPException: page.refused, Exception: page.broken},
        lifespan=lifespan,
    )


class _Page:
    """The routes, with the jobs and the secret that a form must carry."""

    def __init__(self, jobs: JobQueue, max_bytes: int) -> None:
        self.jobs = jobs
        self.max_bytes = max_bytes
        self._megabytes = f"{max_bytes / 1e6:g}"
        self.csrf = secrets.token_urlsafe(24)
        self._templates = templates(_HERE)
        self._script = (_HERE / "page.js").read_text(encoding="utf-8").strip()
        self._css = template_text("report.css") + "\n" + (_HERE / "page.css").read_text(encoding="utf-8").strip()
        policy = report_policy(self._script).replace("form-action 'none'", "form-action 'self'; media-src 'self'")
        self._policy = f"{policy}; connect-src 'self'; frame-ancestors 'none'"

    def _render(self, name: str, status: int = 200, **context: Any) -> HTMLResponse:
        text = self._templates.get_template(name).render(
            css=self._css,
            script=self._script,
            csrf=self.csrf,
            version=__version__,
            megabytes=self._megabytes,
            max_bytes=self.max_bytes,
            most_files=MOST_FILES,
            least_people=LEAST_PEOPLE,
            timeout=_duration(self.jobs.timeout),
            **context,
        )
        return HTMLResponse(text, status, {"Content-Security-Policy": self._policy})

    async def index(self, _: Request) -> Response:
        """The form."""
        return self._render(
            "index.html", title="How much do these recordings disclose?", protectors=offered_protectors()
        )

    async def upload(self, request: Request) -> Response:
        """Take the files and begin a job."""
        self._check(request)
        self._check_room()
        folder = self.jobs.folder()
        try:
            return self._begin(await receive_form(request, folder, self.max_bytes), folder)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, ClientDisconnect):  # nobody reads the answer
                raise HTTPException(400, "The upload broke off.") from None
            if isinstance(error, OSError):
                raise HTTPException(500, f"These files could not be stored: {error.strerror}.") from None
            raise

    async def bundled(self, kind: Kind, request: Request) -> Response:
        """Begin a job on bundled speech."""
        self._check(request)
        return self._start(None, JobRequest(kind=kind), _BUNDLED[kind])

    def _begin(self, form: SentForm, folder: Path) -> Response:
        kind: Kind = next((kind for kind in get_args(Kind) if kind == form.texts.get("kind")), "scores")
        files: dict[str, Any] = {name: form.uploads(name) for name in ("scores", "keys", "dev", "dev_keys", *_SIDES)}
        flags: dict[str, Any] = {flag: flag in form.texts for flag in FLAGS}
        speakers = form.uploads("speakers")
        if len(speakers) > 1:
            raise HTTPException(400, "Expected one file with the speakers.")
        if kind == "scores" and not files["scores"]:
            raise HTTPException(400, "No score file or result was chosen.")
        protect = form.texts.get("protect", "")
        if kind == "anonymise" and protect not in offered_protectors():
            raise HTTPException(400, "No protector was chosen that is offered here.")
        if kind in ("speech", "embeddings", "anonymise"):
            what = "recordings were" if kind != "embeddings" else "embeddings were"
            for name, title in list(_SIDES.items())[: 1 if kind == "anonymise" else None]:
                if title and not files[name]:
                    raise HTTPException(400, f"No {title} {what} chosen.")
                if len(form.files.get(name, ())) > 1:
                    raise HTTPException(400, "Several files were chosen where one was expected.")
        speaker_list, title = speakers[0] if speakers else None, form.texts.get("title", "")[:200].strip()
        further = {"kind": kind, "most_bytes": self.max_bytes, "protect": protect, **flags}
        request = JobRequest(**files, speakers=speaker_list, title=title, **further)
        shown = [upload.name for upload in request.scores]
        shown += [side[0].folder for side in (request.original, *request.systems) if side]
        return self._start(folder, request, ", ".join(shown))

    def _start(self, folder: Path | None, request: JobRequest, title: str) -> Response:
        self._check_room()  # others may have come while the files of this one arrived
        folder = folder or self.jobs.folder()
        return RedirectResponse(f"/job/{self.jobs.start(folder, request, title).token}", 303)

    async def job(self, request: Request) -> Response:
        """The progress, the problems, or links to the report."""
        job = self._job(request)
        names: dict[str, Any] = {"figures_file": FIGURES, "result": RESULT, "packed": ANONYMISED, "most": MOST_PROBLEMS}
        return self._render("job.html", title=job.title, job=job, **names)

    async def state(self, request: Request) -> Response:
        """Progress for the script of the page."""
        return JSONResponse(self._job(request).to_dict())

    async def report(self, request: Request) -> Response:
        """The report itself, to read or to save."""
        job = self._job(request)
        if job.state != "done" or not (job.folder / REPORT).is_file():
            raise HTTPException(404, "There is no report here.")
        headers = {"Content-Security-Policy": report_policy(template_text("report.js")) + "; frame-ancestors 'none'"}
        saved = REPORT if "save" in request.query_params else None
        return FileResponse(job.folder / REPORT, headers=headers, filename=saved)

    async def file(self, request: Request) -> Response:
        """A figure, all figures, or the result, to save; the names are those of the outcome."""
        job, name = self._job(request), request.path_params["name"]
        if job.state != "done" or name not in job.outcome().files:
            raise HTTPException(404, "There is no such file here.")
        path = await self.jobs.draw(job, name)
        if path is None:
            raise HTTPException(500, "This file could not be drawn.")
        return FileResponse(path, filename=name)

    async def cancel(self, request: Request) -> Response:
        """Stop a job."""
        self._check(request)
        job = self._job(request)
        await self.jobs.cancel(job)
        return RedirectResponse(f"/job/{job.token}", 303)

    async def forget(self, request: Request) -> Response:
        """Delete a job with its files."""
        await self.cancel(request)
        self.jobs.forget(self._job(request))
        return RedirectResponse("/", 303)

    async def refused(self, _: Request, error: Exception) -> Response:
        """Answer a request that cannot be met."""
        assert isinstance(error, HTTPException)
        return self._render("refused.html", error.status_code, title="That did not work", message=error.detail)

    async def broken(self, _: Request, error: Exception) -> Response:  # noqa: ARG002
        """Answer after an error of the page, without its details."""
        message = "Something went wrong on this page."
        return self._render("refused.html", 500, title="That did not work", message=message)

    def _job(self, request: Request) -> ReportJob:
        job = self.jobs.find(request.path_params["token"])
        if job is None:
            raise HTTPException(404, "There is nothing here, or it was deleted.")
        return job

    def _check_room(self) -> None:
        """Refuse a job where too many wait."""
        if self.jobs.full:
            raise HTTPException(503, "Too much work is waiting here; cancel some of it, or try again later.")

    def _check(self, request: Request) -> None:
        if not secrets.compare_digest(request.path_params["csrf"].encode(), self.csrf.encode()):
            raise HTTPException(403, "This form is from an earlier run of the page; open the page again.")


def offered_protectors() -> dict[str, str]:
    """Return what the page can anonymise with: names of protectors that run no program, and what they do."""
    kinds = [kind for kind in VOICE_PROTECTORS.values() if kind.leaves is not None]
    order = get_args(Leaves)
    kinds.sort(key=lambda kind: -order.index(kind.leaves))
    return {kind.spellings[0].text: kind.description for kind in kinds}


def _duration(seconds: float) -> str:
    """A time as people say it."""
    return f"{seconds / 60:g} minutes" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:g} seconds"
