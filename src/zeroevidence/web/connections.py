"""Connections of the page: a limit on their number that strangers cannot use up."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

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
