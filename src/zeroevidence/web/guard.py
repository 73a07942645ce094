"""Checks of every request: its origin, its size, and the headers of every answer."""

from __future__ import annotations

import asyncio
import contextlib
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NAMES = ("127.0.0.1", "localhost")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Answer only requests for this machine by its own names, and changes only from this page.

    A page elsewhere can point a name of its own at 127.0.0.1 (DNS rebinding); its requests then carry that name in the
    Host header and are refused. Posts must come from this page: browsers say so in Sec-Fetch-Site and Origin.
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
                headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
            await send(message)

        reason = refusal(Headers(scope=scope), scope["method"])
        if reason:
            await PlainTextResponse(reason + "\n", status_code=403)(scope, receive, sent)
            return
        await self.app(scope, receive, sent)


def refusal(headers: Headers, method: str) -> str:
    """Return why a request is not answered, "" where it is."""
    host = headers.get("host", "")
    if _host(f"http://{host}") not in _NAMES or len(headers.getlist("host")) != 1:
        return "this page answers to 127.0.0.1 and localhost only"
    if method in ("GET", "HEAD"):
        return ""
    origin = headers.get("origin")
    # Browsers send "null" for forms of pages without a referrer, as ours; the token in the address then decides.
    if origin not in (None, "null") and urlsplit(origin).netloc != host:
        return "this request comes from another page"
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "this request comes from another page"
    return ""


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


class TooLarge(Exception):
    """More was sent than is allowed."""


class TooSlow(Exception):
    """Too little was sent in a long time."""


class Body:
    """A request's body, passed on while it stays within `limit` bytes, whatever its header claims, and keeps coming.

    Parameters
    ----------
    receive
        Source of the parts.
    limit
        How many bytes they may be.
    patience
        Seconds without a part after which the sender is cut off.
    least_rate
        Bytes per second that a sender must reach after `patience` seconds.
    """

    def __init__(self, receive: Receive, limit: int, *, patience: float = 30.0, least_rate: float = 8192.0) -> None:
        self._receive = receive
        self._limit = limit
        self._patience, self._least_rate = patience, least_rate
        self._began = time.monotonic()
        self._seen = 0
        self._ended = False

    async def receive(self) -> Message:
        """The next part; raises `TooLarge` when it is one too many, and `TooSlow` when it does not come."""
        message = await self._in_time()
        if self._seen > self._limit:
            raise TooLarge
        return message

    async def drain(self) -> None:
        """Read and drop the rest, so that a browser still gets the answer; give up where it is far too much or slow."""
        with contextlib.suppress(TooSlow):
            while not self._ended and self._seen <= 4 * self._limit:
                await self._in_time()

    async def _in_time(self) -> Message:
        try:
            async with asyncio.timeout(self._patience):
                message = await self._next()
        except TimeoutError:
            raise TooSlow from None
        elapsed = time.monotonic() - self._began
        if not self._ended and elapsed > self._patience and self._seen < self._least_rate * elapsed:
            raise TooSlow
        return message

    async def _next(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message
