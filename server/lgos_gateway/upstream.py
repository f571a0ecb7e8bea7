"""Connections to the models' APIs: kept alive, never handed out when the other side has closed them already.

A pod that drains closes its idle connections. A request that goes out on such a connection fails, and nobody can tell
whether a POST may be sent once more. So the connector lets the event loop look at the socket before a kept connection
is used: one that was closed is dropped while nothing was sent, and another one is taken. A new connection is used
whatever becomes of it: where something accepts and closes at once, dropping it would connect for ever.

A streamed body does not wake a task for each part: the connection hands what a read of the socket brought to a function,
at once, and the task sleeps until the body ends or the function wants a pause. What then comes waits in aiohttp's reader,
which stops reading from the socket when it has enough.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

IDLE_SECONDS: Final = 20.0
"""Idle connections are closed from this side, long before a model's API does it."""
DNS_SECONDS: Final = 10
"""How long the address of a Service is remembered."""


Write = Callable[[bytes], bool]
"""Takes a part of a body; says whether it takes more for now."""


class ModelConnection(ResponseHandler):
    """A connection to a model's API that can hand its body to a function."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._content: aiohttp.StreamReader | None = None
        self._write: Write | None = None
        self._woken: asyncio.Future[None] | None = None
        self._is_pumping = False
        self._heard_at = 0.0

    async def pipe(
        self, content: aiohttp.StreamReader, write: Write, drain: Callable[[], Awaitable[None]]
    ) -> None:
        """Hand the rest of a body to `write`, and wait for `drain` whenever it takes no more.

        Raises:
            Exception: The body ended early, or `write` failed.
        """
        try:
            while True:
                self._content, self._write = content, write
                self._woken = woken = asyncio.get_running_loop().create_future()
                self._pump()
                await woken
                if content.at_eof():
                    return
                await drain()
        finally:
            self._content = self._write = self._woken = None

    def data_received(self, data: bytes) -> None:
        """Take what a read of the socket brought."""
        super().data_received(data)
        if self._write is not None:
            self._pump()

    def _reschedule_timeout(self) -> None:
        """Note that the model is not silent; aiohttp would make a timer for each part of a stream."""
        self._heard_at = self._loop.time()
        if self._read_timeout_handle is None and self._read_timeout:
            self._read_timeout_handle = self._loop.call_later(self._read_timeout, self._look)

    def _look(self) -> None:
        self._read_timeout_handle = None
        if self._read_timeout is None:
            return
        left = self._heard_at + self._read_timeout - self._loop.time()
        if left > 0:
            self._read_timeout_handle = self._loop.call_later(left, self._look)
        else:
            self._on_read_timeout()

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        """Take note that the connection is lost or silent."""
        super().set_exception(exc, exc if exc_cause is None else exc_cause)
        if self._content is not None:
            self._pump(exc)

    def _pump(self, lost: BaseException | None = None) -> None:
        content, write = self._content, self._write
        if content is None or write is None or self._is_pumping:
            return
        takes_more = True
        self._is_pumping = True
        try:
            # Reading makes room, for which aiohttp parses what it held back: it calls `data_received` meanwhile.
            while takes_more and (chunk := content.read_nowait()):
                takes_more = write(chunk)
        except Exception as error:  # noqa: BLE001 - passed on to the task that waits
            self._wake(error)
            return
        finally:
            self._is_pumping = False
        if content.at_eof() or (not takes_more and lost is None):
            self._wake(None)
        elif lost is not None:
            self._wake(lost)

    def _wake(self, error: BaseException | None) -> None:
        woken = self._woken
        self._content = self._write = self._woken = None
        if woken is None or woken.done():
            return
        if error is None:
            woken.set_result(None)
        else:
            woken.set_exception(error)


class FreshConnector(aiohttp.TCPConnector):
    """A connector that hands out no kept connection that the other side has closed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory: Any = functools.partial(ModelConnection, loop=self._loop)
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
