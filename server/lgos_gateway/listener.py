"""The HTTP server with answers of ours for what is no HTTP.

aiohttp answers a request that breaks HTTP's rules in plain text, with its version, and logs the offending bytes, which
may hold keys. Here the answer is the OpenAI envelope, and the log says that it happened. A body that breaks the rules
after its handler began to read it fails at once; aiohttp would let the handler wait for the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from aiohttp import web

from lgos_gateway import errors, headers
from lgos_gateway.metrics import Metrics

logger = logging.getLogger(__name__)


class _Connection(web.RequestHandler):
    """One connection of a client."""

    __slots__ = ("_header_timeout_seconds", "_header_timer", "_metrics")

    def __init__(
        self, server: web.Server, metrics: Metrics, header_timeout_seconds: float, **options: Any
    ) -> None:
        super().__init__(server, **options)
        self._metrics = metrics
        self._header_timeout_seconds = header_timeout_seconds
        self._header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop to wait."""
        self._headers_came()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        if self._header_timer is None:
            self._header_timer = self._loop.call_later(
                self._header_timeout_seconds, self._refuse_late_headers
            )

    def _headers_came(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _refuse_late_headers(self) -> None:
        self._header_timer = None
        transport = self.transport
        if transport is None or self._current_request is not None or self._messages:
            return
        refusal = errors.headers_stalled(self._header_timeout_seconds)
        self._metrics.refused(errors.Reason.TIMEOUT)
        body = refusal.body()
        head = (
            f"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\nServer: {headers.SERVER}\r\n\r\n"
        )
        transport.write(head.encode() + body)
        transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client; what is no HTTP ends the body that is being read."""
        super().data_received(data)
        reading = self._current_request
        if reading is None and not self._messages:
            # Part of the headers: a client that sends them byte by byte gets no longer than another one.
            self._await_headers()
        else:
            self._headers_came()
        if reading is None or not self._messages or reading.content.is_eof():
            return
        # A message behind an unfinished body is never a request: it is the parser's error about that body.
        body = reading.content
        if body.exception() is None:
            # aiohttp refuses this while somebody waits for bytes: then there are none to drop.
            with contextlib.suppress(RuntimeError):
                body.read_nowait()
            body.set_exception(web.RequestPayloadError("the body is no valid HTTP"))
            body.feed_eof()  # or the server would read on, to have it out of the way, and log what that raises

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature; quotes the request
    ) -> web.StreamResponse:
        """Answer what the parser or the server itself refused; the connection ends with it."""
        logger.info("refused a request of %s: %s", request.remote, type(exc).__name__)
        if request.writer.output_size > 0:
            msg = "the answer has begun; there is no other one"
            raise ConnectionError(msg)
        refusal = errors.gateway_failed() if status >= 500 else errors.bad_http(status)
        if refusal.reason is not None:
            self._metrics.refused(refusal.reason)
        answer = web.Response(
            status=refusal.status,
            body=refusal.body(),
            content_type="application/json",
            headers={"Server": headers.SERVER},
        )
        answer.force_close()
        return answer


class Listener(web.Server):
    """`aiohttp.web.Server` whose connections answer in the OpenAI envelope.

    Args:
        handler: Answers requests.
        metrics: Told of requests that never reach the handler.
        header_timeout_seconds: How long a client may take for its headers.
        options: Those of `aiohttp.web.Server`.
    """

    def __init__(
        self, handler: Any, metrics: Metrics, *, header_timeout_seconds: float, **options: Any
    ) -> None:
        super().__init__(handler, **options)
        self._metrics = metrics
        self._header_timeout_seconds = header_timeout_seconds

    def __call__(self) -> web.RequestHandler:
        """Make the protocol of a new connection."""
        return _Connection(
            self, self._metrics, self._header_timeout_seconds, loop=self._loop, **self._kwargs
        )
