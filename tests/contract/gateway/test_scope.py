"""The whole way of a scope: a key at the gateway, a signed header, the API process of a model that asks for it."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest

from gateway_kit.served import data_of, entry, error_of, gateway
from house.serving import free_port
from langgraph_openai_serve.cli.keys import new_entry
from lgos_contract.registry import dump_entry
from lgos_contract.scope import SCOPE_HEADER, sign_scope
from support.programs import LGOS, running

KEY = "k" * 32
GRAPH = """
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

builder = StateGraph(MessagesState)
builder.add_node("node", lambda state: {"messages": [AIMessage("hello")]})
builder.add_edge(START, "node")
builder.add_edge("node", END)
graph = builder.compile()
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "team_graph.py").write_text(GRAPH)
    return {
        "LGOS_MODEL": "hello",
        "LGOS_REGISTRY_DIR": str(tmp_path),
        "LGOS_HOST": "127.0.0.1",
        "LGOS_PORT": str(free_port()),
        "LGOS_METRICS_PORT": str(free_port()),
        "LGOS_SCOPE_KEY": f"{'n' * 32},{KEY}",
    }


async def test_only_the_gateway_is_answered(tmp_path: Path, environ: dict[str, str]) -> None:
    url = f"http://127.0.0.1:{environ['LGOS_PORT']}/v1"
    model = entry("a/hello", url, graph="team_graph:graph")
    (tmp_path / "hello.json").write_text(dump_entry(model))
    keys = tmp_path / "keys"
    keys.mkdir()
    key, stored = new_entry("me", "scope-a")
    (keys / "me.json").write_text(stored)
    body = {"model": "a/hello", "messages": [{"role": "user", "content": "hi"}]}
    with running(LGOS, "serve", cwd=tmp_path, env=environ) as program:
        program.says("serving a/hello")
        async with (
            gateway(api_keys_dir=keys, scope_keys=(KEY.encode(),)) as served,
            aiohttp.ClientSession() as client,
        ):
            served.catalog.put("team-a", data_of(model))
            bearer = {"Authorization": f"Bearer {key}"}
            through = f"{served.url}/v1"
            async with client.get(f"{through}/models/a/hello", headers=bearer) as answer:
                assert answer.status == 200
            for stream in (False, True):
                asked = {**body, "stream": stream}
                async with client.post(
                    f"{through}/chat/completions", json=asked, headers=bearer
                ) as answer:
                    assert answer.status == 200
                    assert "hello" in await answer.text()
            for headers in ({}, bearer, {SCOPE_HEADER: "v1.forged"}):
                async with client.post(
                    f"{url}/chat/completions", json=body, headers=headers
                ) as answer:
                    assert answer.status == 401
                    assert (await error_of(answer))["code"] == "invalid_scope"
            signed = sign_scope(
                KEY.encode(), "s", method="POST", path="/v1/chat/completions", model="a/hello"
            )
            statuses = []
            for _ in range(2):
                async with client.post(
                    f"{url}/chat/completions", data=json.dumps(body), headers={SCOPE_HEADER: signed}
                ) as answer:
                    statuses.append(answer.status)
            assert statuses[1] == 401, "a header is good for one request"
            assert statuses[0] != 401
            async with client.get(f"http://127.0.0.1:{environ['LGOS_PORT']}/readyz") as answer:
                assert answer.status == 200


def test_a_key_that_is_too_short_keeps_a_model_from_starting(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    with running(
        LGOS, "serve", cwd=tmp_path, env={**environ, "LGOS_SCOPE_KEY": "short"}
    ) as program:
        program.says("LGOS_SCOPE_KEY holds a key of less than 32 characters")
