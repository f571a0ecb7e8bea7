"""One request to a model's API and its answer back, byte for byte.

Each chunk is written as it comes; nothing is decoded, encoded or kept. A short answer of known length goes out in one
piece. When the client leaves, the server cancels the handler, and leaving `async with` closes the connection to the
model, which cancels the run. When a model breaks off after its headers, the client's connection is aborted, so that
nobody takes the torso for a whole answer.
"""

from __future__ import annotations

import io
import logging
import socket
import struct
from time import perf_counter
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from lgos_gateway import errors, headers
from lgos_gateway.metrics import Metrics
from lgos_gateway.upstream import ModelConnection

logger = logging.getLogger(__name__)

WHOLE_BYTES: Final = 64 * 1024
"""Answers of a known length up to this are read before they are sent."""
PLAIN_BYTES: Final = 1024 * 1024
"""Larger request bodies are written in pieces, so that one cannot hold up the event loop."""
EVENT_STREAM: Final = "text/event-stream"
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class ModelBrokeOff(Exception):
    """A model's API ended its answer early, after the headers went out; the client's connection is aborted."""


class _ClientLeft(ConnectionResetError):
    """The client's connection is closed."""


class Proxy:
    """Passes requests on to models.

    Args:
        session: The connections to the models' APIs.
        metrics: Told of times and open streams.
        read_timeout_seconds: The session's limit of silence, for the message about it.
    """

    def __init__(
        self, session: aiohttp.ClientSession, metrics: Metrics, *, read_timeout_seconds: float
    ) -> None:
        self._session = session
        self._metrics = metrics
        self._read_timeout_seconds = read_timeout_seconds

    async def forward(
        self,
        request: web.BaseRequest,
        model: str,
        url: URL,
        *,
        body: bytes | bytearray | None = None,
        identity: str,
        scope: str | None = None,
        has_key: bool = False,
    ) -> web.StreamResponse:
        """Send a request on and pass the answer back; returns the answer, sent or ready to be sent.

        Raises:
            Refusal: There is no answer of the model.
            ModelBrokeOff: The answer ended early.
        """
        begin = perf_counter()
        try:
            upstream = await self._session.request(
                request.method,
                url,
                data=io.BytesIO(body) if body and len(body) > PLAIN_BYTES else body,
                headers=headers.to_model(request.headers, identity, scope=scope, has_key=has_key),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            logger.warning("%s: %s: %s", model, url, str(error) or type(error).__name__)
            raise self._refusal(model, error) from error
        try:
            self._metrics.headers_came(model, perf_counter() - begin)
            passed = headers.to_client(upstream.headers, identity)
            length = upstream.content_length
            if length is not None and length <= WHOLE_BYTES:
                return await self._whole(model, upstream, passed)
            return await self._streamed(request, model, upstream, passed)
        finally:
            # Does nothing after a whole answer, whose connection went back to the pool at its end.
            upstream.close()

    async def _whole(
        self, model: str, upstream: aiohttp.ClientResponse, passed: CIMultiDict[str]
    ) -> web.Response:
        try:
            content = await upstream.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._refusal(model, error) from error
        passed.popall("Content-Length", None)
        return web.Response(status=upstream.status, body=content, headers=passed)

    async def _streamed(
        self,
        request: web.BaseRequest,
        model: str,
        upstream: aiohttp.ClientResponse,
        passed: CIMultiDict[str],
    ) -> web.StreamResponse:
        answer = web.StreamResponse(status=upstream.status, headers=passed)
        is_event_stream = upstream.content_type == EVENT_STREAM
        if is_event_stream:
            self._metrics.streams_open.inc()
        try:
            await answer.prepare(request)
            while chunk := await _read(model, upstream):
                await answer.write(chunk)
                connection = upstream.connection
                # The headers are on their way with the first part; the others need no task.
                if connection is not None and answer.headers.get("Transfer-Encoding") == "chunked":
                    await _pipe(model, upstream, connection, request)
            await answer.write_eof()
        finally:
            if is_event_stream:
                self._metrics.streams_open.dec()
        return answer

    def _refusal(self, model: str, error: Exception) -> errors.Refusal:
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return errors.model_unavailable(model)
        if isinstance(error, TimeoutError):
            return errors.model_silent(model, self._read_timeout_seconds)
        return errors.model_broke_off(model)


async def _read(model: str, upstream: aiohttp.ClientResponse) -> bytes:
    try:
        return await upstream.content.readany()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _broke_off(model, error) from error


async def _pipe(
    model: str,
    upstream: aiohttp.ClientResponse,
    connection: aiohttp.connector.Connection,
    request: web.BaseRequest,
) -> None:
    """Write the rest of a chunked answer straight to the client's socket, as it comes."""
    client, source = request.protocol, connection.protocol
    transport = request.transport
    if transport is None or not isinstance(source, ModelConnection):
        return

    def write(chunk: bytes) -> bool:
        if transport.is_closing():
            raise _ClientLeft
        transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        return not client.writing_paused

    try:
        await source.pipe(upstream.content, write, request.writer.drain)
    except _ClientLeft:
        raise
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _broke_off(model, error) from error


def _broke_off(model: str, error: Exception) -> ModelBrokeOff:
    return ModelBrokeOff(f"{model} broke off its answer: {str(error) or type(error).__name__}")


def abort(request: web.BaseRequest) -> None:
    """Close the client's connection so that it cannot look like the end of an answer."""
    transport = request.transport
    if transport is None:
        return
    if request.version < aiohttp.HttpVersion11:
        # Without chunks the end of the connection is the end of the answer; a reset is not.
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    transport.abort()
