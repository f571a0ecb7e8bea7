"""`GET /v1/models` through the real SDK over a real socket."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from jsonschema import Draft202012Validator
from openai import AsyncOpenAI

from support.graphs import Probe, configs


async def test_list_has_every_model_with_its_extension(client: AsyncOpenAI) -> None:
    models = {model.id: model async for model in client.models.list()}

    assert set(models) == set(configs(Probe()))
    assert models["status"].model_extra == {
        "lgos": {
            "schema_version": 1,
            "description": "Tells what it does.",
            "features": ["client_events"],
        }
    }
    assert models["settings_probe"].model_extra is not None
    assert "client_settings" not in models["settings_probe"].model_extra["lgos"]


async def test_detail_has_the_settings_descriptor(client: AsyncOpenAI) -> None:
    model: Any = await client.models.retrieve("settings_probe")
    settings = model.lgos["client_settings"]

    assert settings["schema_version"] == 1
    assert settings["defaults"] == {"audience": "general", "tags": {"a": 1}}
    assert settings["json_schema"]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert settings["json_schema"]["additionalProperties"] is False
    Draft202012Validator.check_schema(settings["json_schema"])
    Draft202012Validator(settings["json_schema"]).validate(settings["defaults"])


async def test_model_without_settings_has_the_whole_extension_too(client: AsyncOpenAI) -> None:
    model = await client.models.retrieve("echo")

    assert model.model_extra == {
        "lgos": {"schema_version": 1, "description": "echo fixture.", "features": []}
    }


async def test_unknown_model_is_not_found(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve("missing")

    assert caught.value.param == "model"
