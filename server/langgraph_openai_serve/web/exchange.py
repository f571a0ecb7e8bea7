"""`POST /v1/chat/completions` and `POST /v1/responses`: one ASGI endpoint over either protocol.

Everything that can be refused is refused before the response headers. A client that leaves cancels its run, streamed or
not; a server that stops lets runs end within the drain time and then ends them with their terminal failure event.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.ports.background import BackgroundBackend
from langgraph_openai_serve.ports.observer import Mode
from langgraph_openai_serve.protocols import drive
from langgraph_openai_serve.protocols.codec import Caller, Decode, Exchange, Mint
from langgraph_openai_serve.protocols.responses.exchange import ResponseExchange
from langgraph_openai_serve.run.executor import Run
from langgraph_openai_serve.run.opening import open_run
from langgraph_openai_serve.web.answer import Answer, ResolveScope, answer_request, uncancel
from langgraph_openai_serve.web.background import create
from langgraph_openai_serve.web.requests import OpenRequests
from langgraph_openai_serve.web.sse import EventStream
from langgraph_openai_serve.web.transport import (
    CancelledOnDisconnect,
    ClientGone,
    Receive,
    Scope,
    Send,
    read_body,
)

logger = logging.getLogger(__name__)


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
        background: BackgroundBackend | None = None,
    ) -> None:
        self._decode = decode
        self._registry = registry
        self._requests = requests
        self._resolve_scope = resolve_scope
        self._limits = limits
        self._mint = mint
        self._background = background

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def run(answer: Answer) -> None:
            await self._run(scope, receive, answer)

        await answer_request(scope, send, self._requests, run)

    async def _run(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        raw = await read_body(scope, receive, self._limits.body_bytes)
        owner = await self._resolve_scope(scope, receive)
        engine = self._background
        caller = Caller(owner, answer.request_id, self._mint, background=engine is not None)
        exchange = self._decode(raw, self._registry, caller)
        if exchange.ignored:
            answer.note_ignored(exchange.ignored)
            self._registry.observer.fields_ignored(exchange.model.id, exchange.ignored)
        if engine is not None and isinstance(exchange, ResponseExchange) and exchange.background:
            await answer.json(await create(engine, exchange, scope))
            return
        mode = Mode.STREAM if exchange.stream else Mode.SYNC
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

    async def _stream(self, run: Run, exchange: Exchange, answer: Answer) -> EventStream:
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
                uncancel()
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
