"""Plain ASGI: reading a body within a limit, sending JSON, noticing that the client left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

from langgraph_openai_serve.errors import LgosError, RequestTooLarge
from langgraph_openai_serve.web.errors import status_of
from langgraph_openai_serve.wire.errors import error_envelope

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

JSON_TYPE: Final = (b"content-type", b"application/json")
REQUEST_ID: Final = b"x-request-id"
WATCH_AFTER_SECONDS: Final = 0.05


class ClientGone(Exception):
    """The client closed its connection; there is nobody to answer."""


def header(scope: Scope, name: bytes) -> str | None:
    """Return a request header, or `None`."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return None


async def read_body(scope: Scope, receive: Receive, limit_bytes: int) -> bytes:
    """Return the whole request body.

    Raises:
        RequestTooLarge: It is larger than the limit; what was read so far is dropped.
        ClientGone: The client left before the end.
    """
    announced = header(scope, b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > limit_bytes:
        raise RequestTooLarge(limit_bytes)
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit_bytes:
            raise RequestTooLarge(limit_bytes)
        chunks.append(chunk)
        if not message.get("more_body"):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def send_json(send: Send, body: bytes, *, status: int = 200, headers: Headers = ()) -> None:
    """Send a JSON answer."""
    length = (b"content-length", str(len(body)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [JSON_TYPE, length, *headers]}
    )
    await send({"type": "http.response.body", "body": body})


async def send_error(send: Send, error: LgosError, *, headers: Headers = ()) -> None:
    """Send a failure in the OpenAI envelope."""
    await send_json(send, error_envelope(error), status=status_of(error), headers=headers)


class CancelledOnDisconnect:
    """An asynchronous context that cancels its block when the client leaves.

    Nobody listens for the first `WATCH_AFTER_SECONDS`: most requests are answered by then, and a task for each of them
    would cost more than it saves. ASGI keeps the disconnect for the first `receive` that asks. Call `stop` before the end
    of the answer is sent: servers report that as a disconnect too.

    Raises:
        ClientGone: The client left; the block's own clean-up is done.
    """

    __slots__ = ("_gone", "_receive", "_task", "_timer", "_watcher")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER_SECONDS, self._listen)

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: object, _traceback: object
    ) -> None:
        self.stop()
        if self._gone and kind is asyncio.CancelledError:
            if self._task is not None:
                self._task.uncancel()
            raise ClientGone from None

    def stop(self) -> None:
        """Look for the client no more."""
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()

    def _listen(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        if self._task is not None:
            self._task.cancel()
