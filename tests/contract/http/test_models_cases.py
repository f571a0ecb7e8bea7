"""Field cases of `GET /v1/models`, and of paths and methods that are not there."""

from __future__ import annotations

import httpx
import pytest

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe, ModelInfo
from langgraph_openai_serve.graph.config import GraphConfig
from langgraph_openai_serve.testing import ScriptedChatModel, chat_graph
from support.graphs import Probe, registry
from support.serving import in_process


async def test_list_and_detail(http: httpx.AsyncClient) -> None:
    first = await http.get("/models")
    second = await http.get("/models")
    detail = (await http.get("/models/echo")).json()
    entry = next(model for model in first.json()["data"] if model["id"] == "echo")
    other = LanggraphOpenaiServe(registry(Probe())).bind_openai_api().app

    assert first.content == second.content
    assert set(entry) == {"id", "object", "created", "owned_by", "lgos"}
    assert set(entry["lgos"]) == {"schema_version", "description", "features"}
    assert (entry["object"], type(entry["created"])) == ("model", int)
    for key in ("id", "object", "created", "owned_by"):
        assert detail[key] == entry[key]
    async with in_process(other) as replica:
        assert (await replica.get("/models")).content == first.content


async def test_facts_of_the_deployment_are_served() -> None:
    config = GraphConfig(graph=chat_graph(ScriptedChatModel(chunks=["x"])), description="One.")
    models = GraphRegistry(
        {"team/one": config}, models={"team/one": ModelInfo(created=17, owned_by="team-a")}
    )
    async with in_process(LanggraphOpenaiServe(models).bind_openai_api().app) as client:
        model = (await client.get("/models/team/one")).json()

    assert (model["id"], model["created"], model["owned_by"]) == ("team/one", 17, "team-a")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/responses", 405, "method_not_allowed"),
        ("DELETE", "/chat/completions", 405, "method_not_allowed"),
        ("POST", "/models", 405, "method_not_allowed"),
        ("POST", "/completions", 404, "unknown_url"),
        ("GET", "/responses/resp_1", 404, None),
        ("POST", "/responses/resp_1/cancel", 404, None),
        ("GET", "/models/missing", 404, None),
    ],
)
async def test_what_is_not_there_has_the_envelope(
    http: httpx.AsyncClient, method: str, path: str, status: int, code: str | None
) -> None:
    answer = await http.request(method, path)

    assert answer.status_code == status
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert answer.json()["error"]["code"] == code
    assert ("allow" in answer.headers) == (status == 405)


async def test_health_answers(http: httpx.AsyncClient) -> None:
    assert (await http.get("http://server/healthz")).json() == {"status": "ok"}
    assert (await http.get("http://server/readyz")).json() == {"status": "ready"}
