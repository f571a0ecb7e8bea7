"""The HTTP server with answers of ours for what is no HTTP.

aiohttp answers a request that breaks HTTP's rules in plain text, with its version, and logs the offending bytes, which
may hold keys. Here the answer is the OpenAI envelope, and the log says that it happened.
"""

from __future__ import annotations

import logging

from aiohttp import web

from lgos_gateway import errors, headers

logger = logging.getLogger(__name__)


class _Connection(web.RequestHandler):
    """One connection of a client."""

    __slots__ = ()

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
