"""Plain ASGI: reading a body within a limit, sending JSON, noticing that the client left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def cancelled_on_disconnect(receive: Receive) -> AsyncGenerator[None, None]:
    """Cancel the block when the client leaves.

    Raises:
        ClientGone: The client left; the block's own clean-up is done.
    """
    task = asyncio.current_task()
    if task is None:
        msg = "cancelled_on_disconnect needs a task"
        raise RuntimeError(msg)
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        task.cancel()

    watcher = asyncio.get_running_loop().create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not gone:
            raise
        task.uncancel()
        raise ClientGone from None
    finally:
        watcher.cancel()
