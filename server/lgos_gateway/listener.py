"""The HTTP server with answers of ours for what is no HTTP.

aiohttp answers a request that breaks HTTP's rules in plain text, with its version, and logs the offending bytes, which
may hold keys. Here the answer is the OpenAI envelope, and the log says that it happened. A body that breaks the rules
after its handler began to read it fails at once; aiohttp would let the handler wait for the rest.
"""

from __future__ import annotations

import contextlib
import logging

from aiohttp import web

from lgos_gateway import errors, headers

logger = logging.getLogger(__name__)


class _Connection(web.RequestHandler):
    """One connection of a client."""

    __slots__ = ()

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client; what is no HTTP ends the body that is being read."""
        super().data_received(data)
        reading = self._current_request
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
        answer = web.Response(
            status=refusal.status,
            body=refusal.body(),
            content_type="application/json",
            headers={"Server": headers.SERVER},
        )
        answer.force_close()
        return answer


class Listener(web.Server):
    """`aiohttp.web.Server` whose connections answer in the OpenAI envelope."""

    def __call__(self) -> web.RequestHandler:
        """Make the protocol of a new connection."""
        return _Connection(self, loop=self._loop, **self._kwargs)
