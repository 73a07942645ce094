"""Checks of every request: its host and origin, and the headers of every answer."""

from __future__ import annotations

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
