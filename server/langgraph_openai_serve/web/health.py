"""`/healthz` and `/readyz`, and the envelope for paths and methods that are not there."""

from __future__ import annotations

from typing import Final

from langgraph_openai_serve.web.requests import OpenRequests
from langgraph_openai_serve.web.transport import Receive, Scope, Send, send_json
from langgraph_openai_serve.wire.errors import envelope

INVALID: Final = "invalid_request_error"


async def alive(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer `/healthz`: the event loop turns."""
    await send_json(send, b'{"status":"ok"}')


class Ready:
    """Answers `/readyz`: 200 while new requests are welcome, 503 from the start of a drain."""

    def __init__(self, requests: OpenRequests) -> None:
        self._requests = requests

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer one probe."""
        if self._requests.draining:
            await send_json(send, b'{"status":"draining"}', status=503)
        else:
            await send_json(send, b'{"status":"ready"}')


class WrongMethod:
    """Answers a known path that was asked with another method."""

    def __init__(self, allowed: str) -> None:
        self._allowed = allowed

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer one request."""
        message = f"Not allowed to {scope['method']} on {scope['path'][:120]}. Use {self._allowed}."
        body = envelope(message, type_=INVALID, code="method_not_allowed")
        await send_json(send, body, status=405, headers=[(b"allow", self._allowed.encode())])


async def unknown_path(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer a path that is not part of the API."""
    message = f"Unknown request URL: {scope['method']} {scope['path'][:200]}."
    await send_json(send, envelope(message, type_=INVALID, code="unknown_url"), status=404)
