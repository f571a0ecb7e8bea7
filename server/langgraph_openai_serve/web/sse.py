"""One Server-Sent Events answer: frames are pushed synchronously and leave in as few sends as possible.

The run pushes frames from inside the graph's tasks; one writer task sends whatever is there in a single ASGI message.
While a client reads slowly, frames wait in the buffer; past its limit the stream is given up. Silence is broken by an
SSE comment, which no client takes for an event.
"""

from __future__ import annotations

import asyncio
from typing import Final

from langgraph_openai_serve.web.transport import Headers, Send

HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
KEEP_ALIVE: Final = b": keep-alive\n\n"


class EventStream:
    """The outgoing half of one streamed answer.

    Args:
        send: ASGI send.
        keep_alive_seconds: Longest silence on the wire.
        limit_bytes: Largest buffer for a client that does not read.
    """

    def __init__(self, send: Send, *, keep_alive_seconds: float, limit_bytes: int) -> None:
        self._send = send
        self._keep_alive_seconds = keep_alive_seconds
        self._limit_bytes = limit_bytes
        self._loop = asyncio.get_running_loop()
        self._owner = asyncio.current_task()
        self._frames: list[bytes] = []
        self._size = 0
        self._wake: asyncio.Future[None] | None = None
        self._closed = False
        self._last_send = self._loop.time()
        self.overflowed = False
        """Whether the client read too slowly and the stream was given up."""

    async def start(self, headers: Headers) -> None:
        """Send the response headers."""
        await self._send(
            {"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]}
        )
        self._writer = self._loop.create_task(self._write())
        self._timer = self._loop.call_later(self._keep_alive_seconds, self._break_silence)

    def push(self, frame: bytes) -> None:
        """Queue a frame; it leaves in this turn of the event loop or the next."""
        if not frame or self.overflowed:
            return
        self._frames.append(frame)
        self._size += len(frame)
        if self._wake is not None:
            self._wake_writer()
        elif self._size > self._limit_bytes:
            self._give_up()

    async def finish(self) -> None:
        """Send what is left and end the answer."""
        self._timer.cancel()
        self._closed = True
        if self._wake is not None:
            self._wake_writer()
        await self._writer

    def abandon(self) -> None:
        """Stop sending: nobody reads any more."""
        self._timer.cancel()
        self._writer.cancel()

    async def _write(self) -> None:
        while True:
            if not self._frames and not self._closed:
                self._wake = self._loop.create_future()
                await self._wake
            body = self._frames[0] if len(self._frames) == 1 else b"".join(self._frames)
            self._frames.clear()
            self._size = 0
            self._last_send = self._loop.time()
            closing = self._closed
            await self._send({"type": "http.response.body", "body": body, "more_body": not closing})
            if closing:
                return

    def _wake_writer(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)

    def _give_up(self) -> None:
        self.overflowed = True
        if self._owner is not None:
            self._owner.cancel()

    def _break_silence(self) -> None:
        now = self._loop.time()
        silent = now - self._last_send
        if silent >= self._keep_alive_seconds:
            if self._wake is not None:  # else the client is not reading what is there already
                self.push(KEEP_ALIVE)
            silent = 0.0
        self._timer = self._loop.call_later(self._keep_alive_seconds - silent, self._break_silence)
