"""Connections of the page: limits of their number, and of the time that each may wait for the other side."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 128  # some systems allow a process 256 files
WAITING = 32  # connections that the system keeps until they are accepted
HEADERS_TIME = 10.0  # seconds in which the headers of a request must have come
ANSWER_TIME = 30.0  # seconds in which some of an answer must be taken

_LOGGER = logging.getLogger("uvicorn.error")


class LimitedConnection(H11Protocol):
    """One connection.

    It is cut off if the headers of a request take longer than `HEADERS_TIME`, also those of the next request on the
    same connection, or if none of an answer is taken for `ANSWER_TIME`. Bodies have limits of their own (`guard.Body`).
    When there are more than `MOST_CONNECTIONS`, the one that has waited longest for headers gives way, or else the new
    one does.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.waiting_since: float | None = None  # None while a request is answered
        self._headers_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the headers of a request."""
        super().connection_made(transport)
        self._wait_for_headers()
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, LimitedConnection) and each.waiting_since]
            oldest = min(waiting, key=lambda each: each.waiting_since or 0.0)  # this one is among them
            oldest.transport.abort()
            self.connections.discard(oldest)

    def handle_events(self) -> None:
        """Take what has come; once it is a request, its answer is worked on."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self.waiting_since = None
            _cancel(self._headers_timer)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._wait_for_headers()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to wait for the other side to take the answer."""
        super().pause_writing()
        _cancel(self._answer_timer)
        self._answer_timer = self.loop.call_later(ANSWER_TIME, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        _cancel(self._answer_timer)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        _cancel(self._headers_timer)
        _cancel(self._answer_timer)
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        _cancel(self._headers_timer)
        self.waiting_since = self.loop.time()
        self._headers_timer = self.loop.call_later(HEADERS_TIME, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class BriefErrors:
    """Handler of errors outside any request, such as a lack of file handles: a line for each kind, and only once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error that has not been logged yet."""
        error = context.get("exception")
        reason = getattr(error, "strerror", None) or type(error).__name__
        if reason not in self._seen:
            self._seen.add(reason)
            _LOGGER.error("%s: %s; this is said once", context.get("message", "error"), reason)
