"""Lets only the gateway's requests through to a model's API, and says whose they are.

Stands in front of the ASGI application when `LGOS_SCOPE_KEY` is set. It reads the scope header and hands `receive` and
`send` on as they are, so that neither bodies nor streams pass through it. Health paths need no header.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from lgos_contract.environment import HEALTH_PATH, READY_PATH
from lgos_contract.scope import SCOPE_HEADER, ScopeRefusedError, ScopeVerifier

logger = logging.getLogger(__name__)

OPEN_PATHS: Final = frozenset({HEALTH_PATH, READY_PATH})
_HEADER: Final = SCOPE_HEADER.lower().encode()
_OWNER: Final = "lgos.owner"


class ScopeGuard:
    """An ASGI application that refuses requests without a valid scope header.

    Args:
        app: Answers the others.
        verifier: Checks the header.
    """

    def __init__(self, app: ASGIApp, verifier: ScopeVerifier) -> None:
        self._app = app
        self._verifier = verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            try:
                scope[_OWNER] = self._owner(scope)
            except ScopeRefusedError as error:
                logger.warning("refused a request: the scope header: %s", error)
                await _refuse(send, str(error))
                return
        await self._app(scope, receive, send)

    def _owner(self, scope: Scope) -> str:
        values = [value for name, value in scope["headers"] if name == _HEADER]
        if len(values) != 1:
            raise ScopeRefusedError("it is missing" if not values else "it is there twice")
        path = scope.get("raw_path") or scope["path"].encode()
        return self._verifier.scope(
            values[0].decode("latin-1"), method=scope["method"], path=path.decode("latin-1")
        )


def owner_of(request: Request) -> str:
    """Return the scope of a request that the guard let through."""
    owner: str = request.scope[_OWNER]
    return owner


async def _refuse(send: Send, reason: str) -> None:
    error = {
        "message": f"The request did not come through the gateway ({SCOPE_HEADER}: {reason}). Send it there.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_scope",
    }
    body = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        # The body was not read; its bytes must not be taken for the next request.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
