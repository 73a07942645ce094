"""What browsers send, each within limits: connections, where requests come from, and forms."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from zeroevidence.web import MOST_FILES
from zeroevidence.web.request import Upload

MOST_CONNECTIONS = 128  # some systems allow a process 256 files


class LimitedConnection(H11Protocol):
    """One connection; when there are more than `MOST_CONNECTIONS`, the oldest gives way to it.

    Connections whose request has not come, or was answered, go first. uvicorn has no time limit for headers, bodies and
    readers, and beyond its `limit_concurrency` it refuses everybody, so that slow strangers would block the page.
    """

    opened = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for this connection."""
        super().connection_made(transport)
        self.opened = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            others = [other for other in self.connections if isinstance(other, LimitedConnection) and other is not self]
            oldest = min(others, key=lambda other: (other.is_busy, other.opened))
            self.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def is_busy(self) -> bool:
        """Whether a request has come that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete


HOSTS = ("127.0.0.1", "localhost")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class Guard:
    """Take posts from this page only, and set the headers of every answer.

    Browsers say in Sec-Fetch-Site and Origin which page a post comes from. A page elsewhere can also point its own name
    at 127.0.0.1 (DNS rebinding); its requests carry that name in the Host header. Starlette refuses all but `HOSTS`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["method"] in ("GET", "HEAD") or _is_from_this_page(Headers(scope=scope)):
            await self.app(scope, receive, sent)
        else:
            await PlainTextResponse("this request comes from another page\n", 403)(scope, receive, sent)


def _is_from_this_page(headers: Headers) -> bool:
    # Browsers send "null" for forms of pages without a referrer, as ours; the token in the address then decides.
    own_origin = headers.get("origin", "null") in ("null", f"http://{headers.get('host', '')}")
    return own_origin and headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


FOLDER = "_folder"  # ends the names of fields that take a folder
_ENDINGS = (".csv", ".tsv", ".pt")  # formats of embeddings that are recognised by the file name
_MOST_TEXTS = 64
_LONGEST_TEXT = 1 << 12  # bytes


@dataclass(slots=True)
class SentForm:
    """Texts and files of a form, by field."""

    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[Upload]] = field(default_factory=dict)

    def uploads(self, name: str) -> tuple[Upload, ...]:
        """Return the files of a field, or of the field beside it that takes a folder."""
        chosen, folder = self.files.get(name, []), self.files.get(f"{name}{FOLDER}", [])
        if chosen and folder:
            raise HTTPException(400, "A file and a folder were chosen for the same recordings; choose one of them.")
        return tuple(chosen or folder)


async def receive_form(request: Request, folder: Path, max_bytes: int) -> SentForm:
    """Receive a form and store its files in a folder.

    Raises
    ------
    HTTPException
        Where it cannot be parsed, has too many parts, or holds more than `max_bytes`.
    """
    limited = Request(request.scope, _limited(request.receive, max_bytes))
    async with limited.form(max_files=MOST_FILES, max_fields=_MOST_TEXTS, max_part_size=_LONGEST_TEXT) as form:
        return await run_in_threadpool(_store, form, folder)


def _limited(receive: Receive, max_bytes: int) -> Receive:
    """Return `receive` with a limit on the bytes of the body, which are counted whatever its header claims."""
    received = 0

    async def receive_part() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > max_bytes:  # the server reads and drops the rest, so that a browser still shows the answer
            raise HTTPException(413, f"These files are larger than {max_bytes / 1e6:g} MB together.")
        return message

    return receive_part


def _store(form: FormData, folder: Path) -> SentForm:
    """Copy the files of a form to a folder; browsers send an empty one without a name where none was chosen."""
    sent = SentForm()
    for number, (name, value) in enumerate(form.multi_items()):
        if isinstance(value, str):
            sent.texts[name] = value
        elif value.filename or value.size:
            path = folder / f"{number}{_ending(name, value.filename or '')}"
            with path.open("xb") as target:
                shutil.copyfileobj(value.file, target)
            files = sent.files.setdefault(name, [])
            files.append(Upload(str(path), _user_name(name, value.filename or "") or f"file {len(files)}"))
    return sent


def _ending(field_name: str, file_name: str) -> str:
    """Return the ending of a stored file."""
    ending = PurePosixPath(file_name).suffix.lower()
    is_embeddings = field_name.removesuffix(FOLDER) in ("original", "anonymised", "second")
    return ending if is_embeddings and ending in _ENDINGS else ".upload"


def _user_name(field_name: str, file_name: str) -> str:
    """Return what the user calls a file: its path in a folder, else what follows the last slash."""
    name = file_name.replace("\x00", "\ufffd")
    return name if field_name.endswith(FOLDER) else name.replace("\\", "/").rpartition("/")[2]
