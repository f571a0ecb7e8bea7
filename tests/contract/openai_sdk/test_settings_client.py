"""Metadata, runtime settings and contexts through the real SDK, by both APIs."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from support.adapted_graphs import adapted_configs
from support.asking import BOTH_APIS, BOTH_WAYS, ask, client_of

RUN_ID = str(uuid.uuid4())


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    async with client_of(adapted_configs()) as made:
        yield made


def settings(**values: Any) -> dict[str, str]:
    return {"lgos_settings": json.dumps(values)}


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize(
    "metadata",
    [
        {"k" * 64: "v" * 512},
        {str(number): "v" for number in range(16)},
        {"lgos_run_id": RUN_ID, "conversation_id": "c", "own": ""},
        {},
    ],
)
async def test_metadata_within_the_limits_reaches_the_graph_unchanged(
    client: AsyncOpenAI, api: str, streamed: bool, metadata: dict[str, str]
) -> None:
    answer = await ask(client, api, "request_probe", streamed=streamed, metadata=metadata)

    assert answer.json()["metadata"] == metadata


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize(
    ("metadata", "param"),
    [
        ({"k" * 65: "v"}, f"metadata.{'k' * 65}"),
        ({"k": "v" * 513}, "metadata.k"),
        ({"k": 1}, "metadata.k"),
        ({"k": None}, "metadata.k"),
        ({str(number): "v" for number in range(17)}, "metadata"),
        ({"lgos_setings": "{}"}, "metadata.lgos_setings"),
        ({"lgos_": ""}, "metadata.lgos_"),
        ({"lgos_run_id": "7"}, "metadata.lgos_run_id"),
        ({"lgos_run_id": str(uuid.UUID(int=0))}, "metadata.lgos_run_id"),
    ],
)
async def test_metadata_outside_the_limits_is_refused_by_key(
    client: AsyncOpenAI, api: str, streamed: bool, metadata: Any, param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, api, "request_probe", streamed=streamed, metadata=metadata)

    assert caught.value.param == param


@BOTH_APIS
async def test_conversation_is_the_callers_and_nothing_else(client: AsyncOpenAI, api: str) -> None:
    named = await ask(
        client,
        api,
        "request_probe",
        streamed=False,
        metadata={"conversation_id": "c-1"},
        user="somebody",
    )
    unnamed = await ask(client, api, "request_probe", streamed=False, user="somebody")

    assert (named.json()["conversation_id"], named.json()["user"]) == ("c-1", "somebody")
    assert unnamed.json()["conversation_id"] is None
    assert unnamed.json()["metadata"] == {}


@BOTH_APIS
@BOTH_WAYS
async def test_settings_replace_defaults_key_by_key_for_one_request(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    defaults = {"audience": "general", "style": {"long": 1, "formal": 2}}
    changed = await ask(
        client, api, "tone", streamed=streamed, metadata=settings(style={"short": 9})
    )
    both = await ask(
        client, api, "tone", streamed=streamed, metadata=settings(audience="EXPERT", style={})
    )
    after = await ask(client, api, "tone", streamed=streamed)

    assert changed.json() == {"audience": "general", "style": {"short": 9}}
    assert both.json() == {"audience": "expert", "style": {}}
    assert after.json() == defaults


async def test_advertised_defaults_are_what_a_request_without_settings_gets(
    client: AsyncOpenAI,
) -> None:
    model: Any = await client.models.retrieve("tone")
    descriptor = model.lgos["client_settings"]
    answer = await ask(client, "responses", "tone", streamed=False)

    assert descriptor["json_schema"]["properties"]["audience"]["default"] == "General"
    assert descriptor["defaults"]["audience"] == "general"
    assert answer.json() == descriptor["defaults"]


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize("model", ["factory", "async_factory"])
async def test_context_factory_combines_settings_and_what_the_server_owns(
    client: AsyncOpenAI, api: str, streamed: bool, model: str
) -> None:
    metadata = settings(audience="Expert")
    answer = await ask(client, api, model, streamed=streamed, metadata=metadata, user="u")

    assert answer.json() == {"api_key": "server-owned", "audience": "expert", "user": "u"}


async def test_context_of_a_graph_is_never_published(client: AsyncOpenAI) -> None:
    listed = [model.model_dump_json() async for model in client.models.list()]
    detail = (await client.models.retrieve("factory")).model_dump_json()

    assert "audience" in detail
    assert "api_key" not in detail + "".join(listed)
    assert "json_schema" not in "".join(listed)
    assert "lgos_package_version" not in (await client.models.retrieve("request_probe")).to_json()


@BOTH_APIS
@pytest.mark.parametrize(
    "text", ["[]", "{", "null", '{"audience": 7}', '{"zzz": 1}', '{"style": {"a": NaN}}', ""]
)
async def test_wrong_settings_are_refused_before_a_stream_begins(
    client: AsyncOpenAI, api: str, text: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, api, "tone", streamed=True, metadata={"lgos_settings": text})

    assert caught.value.param == "metadata.lgos_settings"
