"""The application that LGOS makes itself: the direct way answers like the usual one, and the document is true."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from langchain_core.messages import AIMessage
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import Response

from langgraph_openai_serve import GraphConfig, GraphRegistry, LanggraphOpenaiServe
from langgraph_openai_serve.testing import scripted_graph


def server() -> LanggraphOpenaiServe:
    graph = scripted_graph(lambda _messages: AIMessage("hello"))
    config = GraphConfig(graph=graph, description="Says hello.")
    return LanggraphOpenaiServe(GraphRegistry({"hello": config})).bind_openai_api()


def asking(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lgos")


REQUESTS = [
    ("GET", "/v1/models", None, 200),
    ("HEAD", "/v1/models", None, 200),
    ("DELETE", "/v1/models", None, 405),
    ("GET", "/v1/models/hello", None, 200),
    ("GET", "/v1/models/missing", None, 404),
    ("POST", "/v1/responses", {"model": "missing", "input": "hi"}, 404),
    ("GET", "/v1/responses", None, 405),
    ("POST", "/v1/responses/", {"model": "missing", "input": "hi"}, 404),
    ("POST", "/v1/chat/completions", {"model": "hello"}, 400),
    ("GET", "/v1/nothing", None, 404),
    ("GET", "/healthz", None, 200),
    ("GET", "/readyz", None, 200),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), REQUESTS)
async def test_a_middleware_changes_no_answer(
    method: str, path: str, body: Any, status: int
) -> None:
    seen = []

    class Noting(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: Any) -> Response:
            seen.append(request.url.path)
            return await call_next(request)

    wrapped = server()
    wrapped.app.add_middleware(Noting)
    answers = []
    for app in (server().app, wrapped.app):
        async with asking(app) as client:
            answer = await client.request(method, path, json=body)
            answers.append((answer.status_code, answer.content))
    assert answers[0] == answers[1]
    assert answers[0][0] == status
    assert seen == [path]


async def test_the_openapi_document_describes_the_requests_that_are_taken() -> None:
    async with asking(server().app) as client:
        document = (await client.get("/openapi.json")).json()
        assert (await client.get("/docs")).status_code == 200
    assert {"/v1/models", "/v1/models/{model}"} <= set(document["paths"])
    bodies = {
        "/v1/responses": {"model": "hello", "input": [{"role": "user", "content": "hi"}]},
        "/v1/chat/completions": {"model": "hello", "messages": [{"role": "user", "content": "hi"}]},
    }
    for path, body in bodies.items():
        content = document["paths"][path]["post"]["requestBody"]["content"]
        schema = {**content["application/json"]["schema"], "components": document["components"]}
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        assert list(validator.iter_errors(body)) == []
        assert list(validator.iter_errors({**body, "zzz": 1})) != []
