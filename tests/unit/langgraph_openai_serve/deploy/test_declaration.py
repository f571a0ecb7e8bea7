"""What a declaration says is laid over what the image has."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_openai_serve import (
    ClientSettings,
    ConfigurationError,
    GraphConfig,
    GraphFeature,
    ModelInfo,
    UnsupportedFields,
)
from langgraph_openai_serve.deploy.declaration import Declaration
from langgraph_openai_serve.testing import ScriptedChatModel, chat_graph
from lgos_contract.manifest import LanggraphModel
from lgos_contract.registry import RegistryEntry

GRAPH = chat_graph(ScriptedChatModel(chunks=["Hi"]))


class Settings(ClientSettings):
    tone: str = "plain"
    level: int = 1


def declared(**values: Any) -> Declaration:
    return Declaration(**{"id": "agent", "graph": "team:config", "info": ModelInfo(), **values})


def config(**values: Any) -> GraphConfig:
    return GraphConfig(**{"graph": GRAPH, "description": "From the image.", **values})


def test_manifest_and_entry_declare_the_same() -> None:
    spec = {
        "image": "team/agent:1",
        "graph": "team:config",
        "modelName": "team/agent",
        "description": "An agent.",
        "features": ["client_events"],
        "settings": {"tone": "formal"},
    }
    manifest = LanggraphModel.model_validate(
        {
            "apiVersion": "lgos.dev/v1alpha1",
            "kind": "LanggraphModel",
            "metadata": {"name": "agent", "namespace": "team-a"},
            "spec": spec,
        }
    )
    entry = RegistryEntry(
        id="team/agent", namespace="team-a", name="agent", description="An agent.", features=("client_events",),
        graph="team:config", settings={"tone": "formal"}, base_url="http://agent-api", created=5, owned_by="team-a",
    )  # fmt: skip
    assert Declaration.from_manifest(manifest, created=5) == Declaration.from_entry(entry)


def test_manifest_without_a_namespace_belongs_to_the_default_one() -> None:
    manifest = LanggraphModel.model_validate(
        {
            "apiVersion": "lgos.dev/v1alpha1",
            "kind": "LanggraphModel",
            "metadata": {"name": "agent"},
            "spec": {"image": "x", "graph": "team:config"},
        }
    )
    found = Declaration.from_manifest(manifest, created=1)
    assert (found.id, found.info.owned_by) == ("agent", "default")


def test_description_of_the_manifest_wins_and_the_images_stands_in() -> None:
    assert declared(description="Mine.").over(config(), is_bare=False).description == "Mine."
    assert declared().over(config(), is_bare=False).description == "From the image."


def test_model_without_any_description_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"'agent' has no description: set spec\.description"
    ):
        declared().over(config(description=" "), is_bare=True)


def test_settings_are_laid_over_those_of_the_config() -> None:
    image = config(client_settings=Settings, settings_overrides={"tone": "soft", "level": 2})
    made = declared(settings={"tone": "formal"}).over(image, is_bare=False)
    assert made.settings_overrides == {"tone": "formal", "level": 2}


def test_manifest_decides_which_features_of_the_image_are_on() -> None:
    image = config(features={GraphFeature.CLIENT_EVENTS})
    assert declared().over(image, is_bare=False).features == frozenset()
    made = declared(features=frozenset({"client_events"})).over(image, is_bare=False)
    assert made.features == {GraphFeature.CLIENT_EVENTS}


def test_bare_graph_takes_its_features_from_the_manifest() -> None:
    made = declared(features=frozenset({"client_events"})).over(config(), is_bare=True)
    assert made.features == {GraphFeature.CLIENT_EVENTS}


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        ("client_events", r"the GraphConfig of 'team:config' does not have; add GraphFeature\.CLIENT_EVENTS"),
        ("telepathy", "does not know; install a newer one"),
    ],
)  # fmt: skip
def test_feature_that_the_image_lacks_is_refused(feature: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        declared(features=frozenset({feature})).over(config(), is_bare=False)


def test_unsupported_fields_are_rejected_unless_the_declaration_ignores_them() -> None:
    config = GraphConfig(graph=GRAPH, description="d")
    for value in UnsupportedFields:
        laid_over = declared(unsupported_fields=value).over(config, is_bare=False)
        assert laid_over.unsupported_fields is value
    with pytest.raises(ConfigurationError, match="must be Reject or Ignore, not 'Maybe'"):
        declared(unsupported_fields="Maybe").over(config, is_bare=False)
