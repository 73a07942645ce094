"""Where requests may come from, and the headers of every answer."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
