"""Binding, scopes and errors of a host's own routes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from langgraph_openai_serve import ConfigurationError, LanggraphOpenaiServe, OpenAIHTTPException
from langgraph_openai_serve.errors import LgosError, ModelNotFound, RequestError, RequestTooLarge
from langgraph_openai_serve.web.errors import status_of
from support.graphs import Probe, registry
from support.serving import in_process

BODY = {"model": "echo", "input": "hi"}


def test_routes_are_bound_once() -> None:
    server = LanggraphOpenaiServe(registry(Probe())).bind_openai_api()
    with pytest.raises(ConfigurationError, match="binds its routes once"):
        server.bind_openai_api()


@pytest.mark.parametrize("prefix", ["v1", "/v1/", "/"])
def test_malformed_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigurationError, match="prefix must start with"):
        LanggraphOpenaiServe(registry(Probe())).bind_openai_api(prefix)


async def test_host_keeps_its_application_and_chooses_the_prefix() -> None:
    app = FastAPI()
    server = LanggraphOpenaiServe(registry(Probe()), app).bind_openai_api("/ai")
    async with in_process(app) as client:
        assert (await client.post("http://server/ai/responses", json=BODY)).status_code == 200
        assert (await client.get("http://server/v1/models")).status_code == 404
    assert server.app is app
    assert server.open_requests == 0


async def scope_later(request: Request) -> str:
    return request.headers["x-owner"]


@pytest.mark.parametrize(
    "scope", ["fixed", lambda request: request.headers["x-owner"], scope_later, None]
)
async def test_scope_may_be_a_constant_or_a_function(scope: Any) -> None:
    server = LanggraphOpenaiServe(registry(Probe()), checkpoint_scope=scope).bind_openai_api()
    async with in_process(server.app) as client:
        answer = await client.post("/responses", json=BODY, headers={"x-owner": "me"})

    assert answer.status_code == 200


async def test_scope_function_that_fails_is_an_enveloped_500() -> None:
    def broken(_request: Request) -> str:
        raise KeyError("secret")

    server = LanggraphOpenaiServe(registry(Probe()), checkpoint_scope=broken).bind_openai_api()
    async with in_process(server.app) as client:
        answer = await client.post("/responses", json=BODY)

    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "server_error"
    assert "secret" not in answer.text


async def test_scope_function_may_refuse_with_an_openai_error() -> None:
    def refuse(_request: Request) -> str:
        error = SimpleNamespace(
            message="No key.", type="invalid_request_error", param=None, code="invalid_api_key"
        )
        raise OpenAIHTTPException(401, error)

    app = FastAPI()
    app.get("/own")(refuse)
    server = LanggraphOpenaiServe(registry(Probe()), app, refuse).bind_openai_api()
    async with in_process(server.app) as client:
        own = await client.get("http://server/own?_request=x")
        asked = await client.post("/responses", json=BODY)

    for answer in (own, asked):
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize(
    ("status", "kind"), [(403, "invalid_request_error"), (503, "server_error")]
)
async def test_plain_refusal_of_a_scope_function_has_the_envelope(status: int, kind: str) -> None:
    def refuse(_request: Request) -> str:
        raise HTTPException(status, "Not you.", {"retry-after": "7"})

    server = LanggraphOpenaiServe(registry(Probe()), checkpoint_scope=refuse).bind_openai_api()
    async with in_process(server.app) as client:
        answer = await client.post("/responses", json=BODY)

    assert answer.status_code == status
    assert answer.headers["retry-after"] == "7"
    assert answer.json()["error"] == {
        "message": "Not you.",
        "type": kind,
        "param": None,
        "code": None,
    }


class Wanted(BaseModel):
    size: int


@pytest.mark.parametrize("own_handler", [False, True])
async def test_errors_of_a_hosts_routes_have_the_envelope_under_the_prefix_only(
    own_handler: bool,
) -> None:
    app = FastAPI()

    async def own(body: Wanted) -> None:
        raise HTTPException(409, f"size {body.size}", {"retry-after": "7"})

    app.post("/v1/images")(own)
    app.post("/images")(own)
    if own_handler:
        app.add_exception_handler(HTTPException, lambda _request, _error: Response(status_code=418))
    LanggraphOpenaiServe(registry(Probe()), app).bind_openai_api()
    async with in_process(app) as client:
        refused = await client.post("/images", json={"size": 1})
        wrong = [await client.post("/images", json=body) for body in ({}, {"size": "x"})]
        broken = await client.post(
            "/images", content=b"{", headers={"content-type": "application/json"}
        )
        outside = await client.post("http://server/images", json={"size": 1})
        outside_wrong = await client.post("http://server/images", json={})

    assert (refused.status_code, refused.headers["retry-after"]) == (409, "7")
    assert refused.json()["error"]["message"] == "size 1"
    assert [answer.status_code for answer in (*wrong, broken)] == [400] * 3
    assert [answer.json()["error"]["param"] for answer in wrong] == ["size", "size"]
    assert "not valid JSON" in broken.json()["error"]["message"]
    assert outside.status_code == (418 if own_handler else 409)
    assert outside_wrong.status_code == 422
    assert "detail" in outside_wrong.json()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelNotFound("m"), 404),
        (RequestError("x"), 400),
        (RequestTooLarge(1), 413),
        (LgosError("x"), 500),
        (ConfigurationError("x"), 500),
    ],
)
def test_each_failure_has_its_status(error: LgosError, status: int) -> None:
    assert status_of(error) == status


async def test_lenient_model_names_what_it_ignored() -> None:
    from dataclasses import replace

    from langgraph_openai_serve import GraphRegistry
    from langgraph_openai_serve.graph.config import UnsupportedFields
    from support.graphs import configs

    echo = replace(configs(Probe())["echo"], unsupported_fields=UnsupportedFields.IGNORE)
    server = LanggraphOpenaiServe(GraphRegistry({"echo": echo})).bind_openai_api()
    async with in_process(server.app) as client:
        answer = await client.post("/responses", json={**BODY, "temperature": 1, "top_p": 1})

    assert answer.status_code == 200
    assert set(answer.headers["x-lgos-ignored-fields"].split(",")) == {"temperature", "top_p"}
