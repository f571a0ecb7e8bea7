"""`POST /v1/chat/completions` and `POST /v1/responses`: one ASGI endpoint over either protocol.

Everything that can be refused is refused before the response headers. A client that leaves cancels its run, streamed or
not; a server that stops lets runs end within the drain time and then ends them with their terminal failure event.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException

from langgraph_openai_serve.errors import LgosError, RunCancelled, RunError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.ports.observer import Mode
from langgraph_openai_serve.protocols import drive
from langgraph_openai_serve.protocols.codec import Caller, Decode, Exchange, Mint
from langgraph_openai_serve.run.executor import Run, open_run
from langgraph_openai_serve.web.errors import http_envelope
from langgraph_openai_serve.web.requests import OpenRequests
from langgraph_openai_serve.web.sse import EventStream
from langgraph_openai_serve.web.transport import (
    REQUEST_ID,
    CancelledOnDisconnect,
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    header,
    read_body,
    send_error,
    send_json,
)

logger = logging.getLogger(__name__)

ResolveScope = Callable[[Scope, Receive], Awaitable[str]]
REQUEST_ID_MAX: Final = 128
IGNORED_FIELDS: Final = b"x-lgos-ignored-fields"
IGNORED_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request."""

    body_bytes: int = 32 * 1024 * 1024
    """Larger request bodies are refused with 413."""
    stream_buffer_bytes: int = 1024 * 1024
    """A client that lets this much wait unread loses its stream."""
    keep_alive_seconds: float = 15.0
    """Longest silence of an event stream."""


class ExchangeEndpoint:
    """The ASGI application of one route."""

    def __init__(
        self,
        decode: Decode,
        registry: GraphRegistry,
        requests: OpenRequests,
        resolve_scope: ResolveScope,
        limits: Limits,
        mint: Mint,
    ) -> None:
        self._decode = decode
        self._registry = registry
        self._requests = requests
        self._resolve_scope = resolve_scope
        self._limits = limits
        self._mint = mint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request_id = _request_id(scope)
        answer = _Answer(send, [(REQUEST_ID, request_id.encode("latin-1"))])
        task = self._requests.enter()
        try:
            await self._run(scope, receive, answer, request_id)
        except ClientGone:
            logger.info("client left: request_id=%s", request_id)
        except asyncio.CancelledError:
            if not self._requests.draining:
                raise
            _uncancel()
            await answer.error(RunCancelled("the server stopped"))
        except LgosError as error:
            await answer.error(error)
        except HTTPException as refusal:  # raised by the host's scope function
            await answer.refuse(refusal)
        except Exception:  # a host's scope function or a bug: the caller still gets an envelope
            logger.exception("request failed: request_id=%s", request_id)
            await answer.error(RunError("the request failed"))
        finally:
            self._requests.leave(task)

    async def _run(self, scope: Scope, receive: Receive, answer: _Answer, request_id: str) -> None:
        raw = await read_body(scope, receive, self._limits.body_bytes)
        owner = await self._resolve_scope(scope, receive)
        exchange = self._decode(raw, self._registry, Caller(owner, request_id, self._mint))
        mode = Mode.STREAM if exchange.stream else Mode.SYNC
        if exchange.ignored:
            answer.note_ignored(exchange.ignored)
            self._registry.observer.fields_ignored(exchange.model.id, exchange.ignored)
        watch = CancelledOnDisconnect(receive)
        async with (
            watch,
            open_run(
                self._registry, exchange.model, exchange.request, exchange.operation, mode=mode
            ) as run,
        ):
            if exchange.stream:
                stream = await self._stream(run, exchange, answer)
                watch.stop()
                await stream.finish()
            else:
                body = await drive.collect(run, exchange)
                watch.stop()
                await answer.json(body)

    async def _stream(self, run: Run, exchange: Exchange, answer: _Answer) -> EventStream:
        """Answer with the run's events; the end of the stream is left to the caller."""
        stream = EventStream(
            answer.send,
            keep_alive_seconds=self._limits.keep_alive_seconds,
            limit_bytes=self._limits.stream_buffer_bytes,
        )
        answer.started = True
        await stream.start(answer.headers)
        try:
            await drive.stream(run, exchange.encoder(), stream.push)
        except asyncio.CancelledError:
            if stream.overflowed:
                _uncancel()
                stream.abandon()
                raise ClientGone from None
            if self._requests.draining:
                await stream.finish()
            else:
                stream.abandon()
            raise
        except BaseException:
            stream.abandon()
            raise
        return stream


class _Answer:
    """One answer that can be begun once."""

    __slots__ = ("headers", "send", "started")

    def __init__(self, send: Send, headers: Headers) -> None:
        self.send = send
        self.headers = headers
        self.started = False

    def note_ignored(self, fields: tuple[str, ...]) -> None:
        """Name the ignored request fields in the answer's headers."""
        names = ",".join(fields).encode("ascii", "replace")[:IGNORED_MAX]
        self.headers = [*self.headers, (IGNORED_FIELDS, names)]

    async def json(self, body: bytes) -> None:
        self.started = True
        await send_json(self.send, body, headers=self.headers)

    async def refuse(self, refusal: HTTPException) -> None:
        """Send a host's own refusal."""
        given = (refusal.headers or {}).items()
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given]
        body = http_envelope(refusal)
        await send_json(
            self.send, body, status=refusal.status_code, headers=[*self.headers, *headers]
        )

    async def error(self, error: LgosError) -> None:
        """Send a failure, unless an answer has begun."""
        if not self.started:
            self.started = True
            await send_error(self.send, error, headers=self.headers)


def _uncancel() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _request_id(scope: Scope) -> str:
    given = header(scope, REQUEST_ID)
    if given and len(given) <= REQUEST_ID_MAX and given.isprintable():
        return given
    return os.urandom(16).hex()
