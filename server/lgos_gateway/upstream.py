"""Connections to the models' APIs: kept alive, never handed out when the other side has closed them already.

A pod that drains closes its idle connections. A request that goes out on such a connection fails, and nobody can tell
whether a POST may be sent once more. So the connector lets the event loop look at the socket before a kept connection
is used: one that was closed is dropped while nothing was sent, and another one is taken. A new connection is used
whatever becomes of it: where something accepts and closes at once, dropping it would connect for ever.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import aiohttp

if TYPE_CHECKING:
    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

IDLE_SECONDS: Final = 20.0
"""Idle connections are closed from this side, long before a model's API does it."""
DNS_SECONDS: Final = 10
"""How long the address of a Service is remembered."""


class FreshConnector(aiohttp.TCPConnector):
    """A connector that hands out no kept connection that the other side has closed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._used: WeakSet[ResponseHandler] = WeakSet()

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109 - the signature of aiohttp's connectors
    ) -> Connection:
        """Get a kept connection that is still open, or a new one."""
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol is None or protocol not in self._used:
                if protocol is not None:
                    self._used.add(protocol)
                return connection
            # Two turns, because the loop may poll its sockets after it ran this task the first time.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if protocol.is_connected():
                return connection
            connection.close()


def open_session(
    *, connect_timeout_seconds: float, read_timeout_seconds: float
) -> aiohttp.ClientSession:
    """Return the one session for all models; it never decodes, redirects or keeps cookies."""
    return aiohttp.ClientSession(
        connector=FreshConnector(
            limit=0, keepalive_timeout=IDLE_SECONDS, ttl_dns_cache=DNS_SECONDS
        ),
        timeout=aiohttp.ClientTimeout(
            total=None, connect=connect_timeout_seconds, sock_read=read_timeout_seconds
        ),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
    )
