"""`LanggraphOpenaiServe`: binds a registry's graphs to a FastAPI application.

The routes of the API are plain ASGI endpoints inside the application: no dependency chain, no response model, no
middleware of ours around the body. FastAPI still owns the application, its documentation and whatever a host adds.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, Self

from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Route

from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.ports.background import BackgroundBackend
from langgraph_openai_serve.protocols.chat.decode import decode as decode_chat
from langgraph_openai_serve.protocols.codec import Decode, Mint
from langgraph_openai_serve.protocols.responses.decode import decode as decode_response
from langgraph_openai_serve.web.answer import ResolveScope
from langgraph_openai_serve.web.application import Application
from langgraph_openai_serve.web.background import KeptEndpoint
from langgraph_openai_serve.web.errors import handle_errors
from langgraph_openai_serve.web.exchange import ExchangeEndpoint, Limits
from langgraph_openai_serve.web.health import (
    Ready,
    WrongMethod,
    alive,
    unknown_path,
)
from langgraph_openai_serve.web.models import ModelDetail, ModelList
from langgraph_openai_serve.web.requests import OpenRequests
from langgraph_openai_serve.web.transport import Receive, Scope

CheckpointScope = str | Callable[[Request], str | Awaitable[str]]
SHARED_SCOPE: Final = "shared"
ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class LanggraphOpenaiServe:
    """Serves a registry's graphs.

    Args:
        registry: The graphs.
        app: The application to add the routes to; left out, an own one is made.
        checkpoint_scope: The server-trusted owner of a request: a constant, or a sync or async function of the request.
            Never take it from what the caller controls.
        background: The engine that runs and keeps background Responses; left out, there are none.
        limits: Bounds of one request.
        mint: Where ids and timestamps come from.

    The routes exist after `bind_openai_api`; `app` is then an ASGI application.
    """

    def __init__(
        self,
        registry: GraphRegistry,
        app: FastAPI | None = None,
        checkpoint_scope: CheckpointScope | None = None,
        background: BackgroundBackend | None = None,
        *,
        limits: Limits | None = None,
        mint: Mint | None = None,
    ) -> None:
        self.registry = registry
        self.app = app if app is not None else Application()
        self._limits = limits or Limits()
        self._mint = mint or Mint()
        self._background = background
        self._requests = OpenRequests()
        self._resolve_scope = _resolver(checkpoint_scope)
        self._bound = False

    def bind_openai_api(self, prefix: str = "/v1") -> Self:
        """Add the OpenAI routes under `prefix`, and `/healthz` and `/readyz`; may be called once.

        Raises:
            ConfigurationError: The prefix is malformed, or the routes were bound before.
        """
        if self._bound:
            msg = "bind_openai_api was called before; one server binds its routes once"
            raise ConfigurationError(msg)
        if not prefix.startswith("/") or prefix.endswith("/"):
            msg = f"prefix must start with '/' and not end with it, got '{prefix}'"
            raise ConfigurationError(msg)
        self._bound = True
        handle_errors(self.app, prefix)
        routes = [*self._api_routes(prefix), *self._health_routes()]
        self.app.router.routes.extend(routes)
        if isinstance(self.app, Application):
            self.app.take_direct(prefix, routes)
        return self

    @property
    def open_requests(self) -> int:
        """How many requests are in progress."""
        return len(self._requests)

    def start_draining(self) -> None:
        """Answer `/readyz` with 503 from now on; requests are still served."""
        self._requests.draining = True

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait for open requests; past the timeout end the rest, each stream with its terminal failure event.

        Returns:
            Whether all requests ended by themselves.
        """
        return await self._requests.drain(timeout_seconds)

    def _api_routes(self, prefix: str) -> list[Route]:
        chat = self._exchange(decode_chat)
        responses = self._exchange(decode_response)
        models = ModelList(self.registry)
        posts: dict[str, Any] = {"/chat/completions": chat, "/responses": responses}
        gets: dict[str, Any] = {
            "/models": models,
            "/models/{model:path}": ModelDetail(self.registry),
        }
        routes = []
        for path, endpoint in posts.items():
            # With a slash at the end as well: a redirect would lose the body in many clients.
            routes += [_route(prefix + path + end, endpoint, ["POST"]) for end in ("", "/")]
        routes += [
            _route(prefix + path, endpoint, ["GET", "HEAD"]) for path, endpoint in gets.items()
        ]
        routes += [
            _route(prefix + "/responses/{response_id}", self._kept(cancels=False), ["GET"]),
            _route(prefix + "/responses/{response_id}/cancel", self._kept(cancels=True), ["POST"]),
        ]
        routes += [_route(prefix + path, WrongMethod("POST"), ALL_METHODS) for path in posts]
        routes += [_route(prefix + path, WrongMethod("GET"), ALL_METHODS) for path in gets]
        return [*routes, _route(prefix + "/{path:path}", unknown_path, ALL_METHODS)]

    def _health_routes(self) -> list[Route]:
        return [
            _route("/healthz", alive, ["GET", "HEAD"]),
            _route("/readyz", Ready(self._requests), ["GET", "HEAD"]),
        ]

    def _exchange(self, decode: Decode) -> ExchangeEndpoint:
        return ExchangeEndpoint(
            decode,
            self.registry,
            self._requests,
            self._resolve_scope,
            self._limits,
            self._mint,
            self._background,
        )

    def _kept(self, *, cancels: bool) -> KeptEndpoint:
        return KeptEndpoint(self._background, self._requests, self._resolve_scope, cancels=cancels)


class _Asgi:
    """Marks a function as an ASGI application: Starlette takes bare functions for request handlers."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        await self._app(scope, receive, send)


def _route(path: str, endpoint: Any, methods: list[str]) -> Route:
    app = _Asgi(endpoint) if inspect.isfunction(endpoint) else endpoint
    return Route(path, app, methods=methods, include_in_schema=False)


def _resolver(checkpoint_scope: CheckpointScope | None) -> ResolveScope:
    if checkpoint_scope is None or isinstance(checkpoint_scope, str):
        constant = checkpoint_scope or SHARED_SCOPE

        async def fixed(_scope: Scope, _receive: Receive) -> str:
            return constant

        return fixed

    async def asked(scope: Scope, receive: Receive) -> str:
        owner = checkpoint_scope(Request(scope, receive))
        return await owner if inspect.isawaitable(owner) else owner

    return asked
