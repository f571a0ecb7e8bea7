"""The OpenAI SDK as the judge: the gateway in front of two real model APIs of this package."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
import pytest
import uvicorn
from langchain_core.messages import AIMessage
from openai import AsyncOpenAI

from gateway_kit.served import DEADLINE_SECONDS, Served, data_of, entry, free_port, gateway
from langgraph_openai_serve import GraphConfig, GraphRegistry, LanggraphOpenaiServe
from langgraph_openai_serve.testing.graphs import scripted_graph


@asynccontextmanager
async def model_api(name: str) -> AsyncIterator[str]:
    """Serve one model on a loopback port; yields its base URL."""
    config = GraphConfig(
        graph=scripted_graph(lambda messages: AIMessage(str(messages[-1].content))),
        description=f"The model {name}.",
    )
    app = LanggraphOpenaiServe(registry=GraphRegistry({name: config})).bind_openai_api().app
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="on")
    )
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not server.started:
                assert not serving.done()
                await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        await serving


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with model_api("echo") as one, model_api("org/second") as two, gateway() as running:
        running.catalog.put("team-a", data_of(entry("echo", one), entry("org/second", two)))
        yield running


@pytest.fixture
async def client(served: Served) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as sdk:
        yield sdk


async def test_the_sdk_lists_both_models_and_reads_each(client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["echo", "org/second"]
    for name in ("echo", "org/second"):
        model = await client.models.retrieve(name)
        assert model.id == name


@pytest.mark.parametrize("model", ["echo", "org/second"])
async def test_the_sdk_gets_answers_of_each_model_in_both_protocols(
    model: str, client: AsyncOpenAI
) -> None:
    completion = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Hello"}]
    )
    assert completion.model == model
    assert "Hello" in (completion.choices[0].message.content or "")
    response = await client.responses.create(model=model, input="Hello")
    assert response.model == model
    assert "Hello" in response.output_text


@pytest.mark.parametrize("model", ["echo", "org/second"])
async def test_the_sdk_streams_of_each_model_in_both_protocols(
    model: str, client: AsyncOpenAI
) -> None:
    chunks = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Hello"}], stream=True
    )
    text = "".join([c.choices[0].delta.content or "" async for c in chunks if c.choices])
    assert "Hello" in text
    async with client.responses.stream(model=model, input="Hello") as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert kinds[-1] == "response.completed"
    assert "Hello" in final.output_text


async def test_the_sdk_raises_its_own_errors(client: AsyncOpenAI, served: Served) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.responses.create(model="missing", input="hi")
    assert unknown.value.param == "model"
    with pytest.raises(openai.BadRequestError):
        await client.responses.create(model="echo", input="hi", temperature=0.5)
    dead = f"http://127.0.0.1:{free_port()}/v1"
    served.catalog.put("team-b", data_of(entry("down", dead, namespace="team-b")))
    with pytest.raises(openai.InternalServerError) as unavailable:
        await client.responses.create(model="down", input="hi")
    assert unavailable.value.status_code == 503
    assert unavailable.value.code == "model_unavailable"
