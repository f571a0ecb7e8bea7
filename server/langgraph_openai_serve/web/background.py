"""Background Responses over HTTP: create, retrieve and cancel."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final
from urllib.parse import parse_qs
from uuid import UUID

from langgraph_openai_serve.errors import (
    IdempotencyConflict,
    RequestError,
    ResponseNotFound,
)
from langgraph_openai_serve.ports.background import (
    BackgroundBackend,
    BackgroundJob,
    BackgroundRun,
    idempotency_digest,
)
from langgraph_openai_serve.protocols.responses.exchange import ResponseExchange
from langgraph_openai_serve.protocols.responses.kept import KeptResponse, run_of
from langgraph_openai_serve.web.answer import Answer, ResolveScope, answer_request
from langgraph_openai_serve.web.requests import OpenRequests
from langgraph_openai_serve.web.transport import Receive, Scope, Send, header

IDEMPOTENCY_HEADER: Final = b"idempotency-key"
_KEY: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")
CURSORS: Final = ("stream", "starting_after")
"""Query parameters of OpenAI's retrieve that only make sense for streams."""


async def create(backend: BackgroundBackend, exchange: ResponseExchange, scope: Scope) -> bytes:
    """Submit a validated request, and return its Response as it stands.

    Raises:
        RequestError: The idempotency key is malformed, or was used for another request.
        EngineUnavailable: The engine takes no jobs; nothing was accepted.
    """
    request = exchange.wire.model_dump(mode="json", by_alias=True, exclude_unset=True)
    job = BackgroundJob(
        request=request,
        scope=exchange.request.scope,
        idempotency_key=_digest(scope, exchange),
        created_at=exchange.mint.now(),
        request_id=exchange.request.request_id,
    )
    run = await backend.submit(job)
    if _fingerprint(run.job) != _fingerprint(job):
        raise IdempotencyConflict
    return _shown(run)


async def retrieve(
    backend: BackgroundBackend, response_id: str, owner: str, query: bytes = b""
) -> bytes:
    """Return a Response as it stands.

    Raises:
        RequestError: The query asks for a stream.
        ResponseNotFound: There is no Response of this id, or it is somebody else's.
    """
    asked = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    for name in CURSORS:
        if name in asked and asked[name] != ["false"]:
            msg = f"{name} is not available: background Responses are polled."
            raise RequestError(msg, param=name)
    return _shown(await _find(backend, response_id, owner))


async def cancel(backend: BackgroundBackend, response_id: str, owner: str) -> bytes:
    """Cancel a Response and return it as it stands then; one that has ended stays as it is.

    Raises:
        ResponseNotFound: There is no Response of this id, or it is somebody else's.
    """
    run = await _find(backend, response_id, owner)
    if not run.status.is_terminal:
        await backend.cancel(run.id)
        run = await _find(backend, response_id, owner)
    return _shown(run)


async def _find(backend: BackgroundBackend, response_id: str, owner: str) -> BackgroundRun:
    run_id = run_of(response_id)
    run = None if run_id is None else await backend.get(run_id)
    # The whole id must be right, not only the part that names the run.
    if run is None or run.job.scope != owner or _kept(run).id != response_id:
        raise ResponseNotFound(response_id[:200])
    return run


def _kept(run: BackgroundRun) -> KeptResponse:
    return KeptResponse(run.job, UUID(run.id))


def _shown(run: BackgroundRun) -> bytes:
    return _kept(run).shown(run)


def _digest(scope: Scope, exchange: ResponseExchange) -> str:
    """Return the job's key: the caller's, or one that nobody else can have.

    Raises:
        RequestError: The caller's is malformed.
    """
    given = header(scope, IDEMPOTENCY_HEADER)
    if given is not None and _KEY.fullmatch(given) is None:
        msg = "Idempotency-Key must have 1 to 255 printable ASCII characters."
        raise RequestError(msg, param="Idempotency-Key")
    key = f"given {given}" if given is not None else f"made {exchange.mint.new_uuid()}"
    return idempotency_digest(exchange.request.scope, exchange.model.id, key)


def _fingerprint(job: BackgroundJob) -> bytes:
    text = json.dumps(dict(job.request), sort_keys=True)
    return hashlib.sha256(text.encode()).digest()


class KeptEndpoint:
    """The ASGI application of retrieve, or of cancel.

    Args:
        backend: The engine; left out, every id is unknown.
        requests: Counts requests in progress.
        resolve_scope: Tells the owner of a request.
        cancels: Whether the Response is to be cancelled first.
    """

    def __init__(
        self,
        backend: BackgroundBackend | None,
        requests: OpenRequests,
        resolve_scope: ResolveScope,
        *,
        cancels: bool,
    ) -> None:
        self._backend = backend
        self._requests = requests
        self._resolve_scope = resolve_scope
        self._cancels = cancels

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def run(answer: Answer) -> None:
            response_id = scope["path_params"]["response_id"]
            owner = await self._resolve_scope(scope, receive)
            await answer.json(await self._body(scope, response_id, owner))

        await answer_request(scope, send, self._requests, run)

    async def _body(self, scope: Scope, response_id: str, owner: str) -> bytes:
        if self._backend is None:
            raise ResponseNotFound(response_id[:200])
        if self._cancels:
            return await cancel(self._backend, response_id, owner)
        return await retrieve(self._backend, response_id, owner, scope.get("query_string", b""))
