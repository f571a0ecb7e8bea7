"""The FastAPI application that LGOS makes when a host gives none.

Requests to the API's own paths go straight to their endpoints: each layer of FastAPI around an answer costs a few
microseconds at every event of a stream. As soon as somebody adds a middleware, all requests take the usual way.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from langgraph_openai_serve.wire.chat import ChatCompletionCreate
from langgraph_openai_serve.wire.responses import ResponseCreate

TITLE: Final = "LangGraph OpenAI Serve"
SCHEMAS: Final[Mapping[str, type[BaseModel]]] = {
    "/chat/completions": ChatCompletionCreate,
    "/responses": ResponseCreate,
}
"""Request body of each POST route, for the OpenAPI document."""


class Application(FastAPI):
    """FastAPI with a direct way to the API's routes, which its OpenAPI document describes."""

    def __init__(self) -> None:
        super().__init__(title=TITLE, lifespan=_no_resources)
        self._direct: dict[tuple[str, str], ASGIApp] = {}
        self._prefix = ""

    def take_direct(self, prefix: str, routes: Sequence[Route]) -> None:
        """Answer the routes that have a constant path directly.

        Args:
            prefix: What the API's paths begin with.
            routes: The routes in the order of the router: the first one of a method and path answers.
        """
        self._prefix = prefix
        for route in routes:
            for method in route.methods or ():
                if "{" not in route.path:
                    self._direct.setdefault((method, route.path), route.app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and not self.user_middleware and not scope.get("root_path"):
            endpoint = self._direct.get((scope["method"], scope["path"]))
            if endpoint is not None:
                await endpoint(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, with the routes of the API."""
        if self.openapi_schema is None:
            document = super().openapi()
            paths = document.setdefault("paths", {})
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for path, model in SCHEMAS.items():
                paths[self._prefix + path] = {"post": _operation(model, schemas)}
            for path, summary in {
                "/models": "List models",
                "/models/{model}": "Get a model",
            }.items():
                paths[self._prefix + path] = {"get": _reading(summary, path)}
        return super().openapi()


def _operation(model: type[BaseModel], schemas: dict[str, Any]) -> dict[str, Any]:
    prefix = f"{model.__name__}."
    schema = model.model_json_schema(ref_template=f"#/components/schemas/{prefix}{{model}}")
    schemas |= {prefix + name: part for name, part in schema.pop("$defs", {}).items()}
    answers = {
        "application/json": {"schema": {"type": "object"}},
        "text/event-stream": {"schema": {"type": "string"}},
    }
    return {
        "summary": (model.__module__.rpartition(".")[2]).capitalize(),
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {"description": "The answer, or its event stream.", "content": answers}
        },
    }


def _reading(summary: str, path: str) -> dict[str, Any]:
    parameter = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "summary": summary,
        "parameters": [parameter] if "{model}" in path else [],
        "responses": {"200": {"description": "The Model object, or a list of them."}},
    }


@asynccontextmanager
async def _no_resources(_app: FastAPI) -> AsyncGenerator[None, None]:
    yield
