from __future__ import annotations

from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, ConfigDict, Field, SecretStr, computed_field

from langgraph_openai_serve.errors import ConfigurationError, ModelNotFound, RequestError
from langgraph_openai_serve.graph.config import GraphConfig, GraphFeature
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.settings import ClientSettings, SettingsResolver
from langgraph_openai_serve.graph.status import status_event, visible_description
from langgraph_openai_serve.testing import ScriptedChatModel, chat_graph

GRAPH = chat_graph(ScriptedChatModel(chunks=["x"]))


class Settings(ClientSettings):
    audience: str = "general"
    nested: dict[str, int] = Field(default_factory=lambda: {"a": 1, "b": 2})


class Required(ClientSettings):
    audience: str


class Normalised(ClientSettings):
    audience: Annotated[str, AfterValidator(str.lower)] = "General"
    since: date = date(2026, 1, 2)
    use_history: bool = Field(default=False, alias="useHistory")

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own way
    @property
    def shown(self) -> str:
        return self.audience.title()


class Hidden(ClientSettings):
    token: SecretStr = SecretStr("s3cret")


class Opaque(ClientSettings):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    thing: object = object()


def config(**fields: Any) -> GraphConfig:
    return GraphConfig(**{"graph": GRAPH, "description": "D.", **fields})


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("", {}, "needs a name"),
        ("m", {"description": " "}, "needs a description"),
        ("m", {"settings_overrides": {"a": 1}}, "has no client_settings"),
        ("m", {"client_settings": Required}, "audience: Field required"),
        ("m", {"client_settings": Hidden}, "defaults of model 'm' change"),
        ("m", {"client_settings": Opaque}, "defaults of model 'm' change"),
        (
            "m",
            {"client_settings": Settings, "settings_overrides": {"audience": 7}},
            "settings of model 'm' are invalid: audience",
        ),
        ("m", {"graph": 7}, "must be a compiled LangGraph graph, not int"),
        ("m", {"graph": lambda: "x"}, "must be a compiled LangGraph graph, not str"),
    ],
)
def test_what_cannot_be_served_is_refused_at_start(
    name: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        GraphRegistry({name: config(**fields)})


def test_factory_is_called_once() -> None:
    calls: list[int] = []

    def build() -> Any:
        calls.append(1)
        return GRAPH

    registry = GraphRegistry({"m": config(graph=build)})

    assert registry.get("m").graph is registry.get("m").graph is GRAPH
    assert calls == [1]


def test_registry_knows_its_models() -> None:
    registry = GraphRegistry({"b": config(), "a": config(features={GraphFeature.BACKGROUND})})

    assert [model.id for model in registry] == ["b", "a"]
    assert len(registry) == 2
    assert registry.get("a").listing()["lgos"]["features"] == ["background"]
    assert registry.find("c") is None
    with pytest.raises(ModelNotFound, match=r"Graph 'c' not found in registry\."):
        registry.get("c")


def test_deployment_lays_values_over_the_defaults() -> None:
    resolver = SettingsResolver("m", Settings, {"audience": "expert"})

    assert resolver.descriptor()["defaults"] == {"audience": "expert", "nested": {"a": 1, "b": 2}}
    assert resolver.resolve(None) == Settings(audience="expert")
    assert resolver.resolve('{"nested": {"c": 3}}') == Settings(audience="expert", nested={"c": 3})


def test_defaults_are_advertised_as_they_are_after_validation() -> None:
    resolver = SettingsResolver("m", Normalised, {})

    assert resolver.descriptor()["json_schema"]["properties"]["audience"]["default"] == "General"
    assert resolver.descriptor()["defaults"] == {
        "audience": "general",
        "since": "2026-01-02",
        "useHistory": False,
    }
    assert resolver.resolve(None) == Normalised()
    assert resolver.resolve('{"useHistory": true}') == Normalised(useHistory=True)
    assert resolver.resolve('{"audience": "EXPERT"}').model_dump()["audience"] == "expert"


def test_settings_of_one_request_do_not_change_those_of_the_next() -> None:
    resolver = SettingsResolver("m", Settings, {})
    first: Any = resolver.resolve(None)
    first.nested["a"] = 99

    assert resolver.resolve(None) == Settings()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        '{"audience": 1}',
        '{"x": 1}',
        '{"nested": {"a": NaN}}',
        '{"audience": "\\ud800"}',
    ],
)
def test_wrong_settings_are_refused(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        SettingsResolver("m", Settings, {}).resolve(text)

    assert caught.value.param == "metadata.lgos_settings"


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (status_event("A", done=True), "A"),
        (status_event("A", hidden=True), None),
        (status_event(""), None),
        ({**status_event("A"), "type": "other"}, None),
        ({**status_event("A"), "description": 7}, None),
        ({"type": "lgos.status", "description": "A"}, None),
        ("text", None),
        (None, None),
    ],
)
def test_only_well_formed_status_is_visible(value: Any, description: str | None) -> None:
    assert visible_description(value) == description
