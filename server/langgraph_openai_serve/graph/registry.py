"""`GraphRegistry`: the graphs that one process serves, with everything that depends on them made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_openai_serve.errors import ConfigurationError, ModelNotFound
from langgraph_openai_serve.graph.config import Graph, GraphConfig, GraphFeature
from langgraph_openai_serve.graph.guard import guarded
from langgraph_openai_serve.graph.settings import SettingsResolver
from langgraph_openai_serve.ports.coordinator import InMemoryRunCoordinator, RunCoordinator
from langgraph_openai_serve.ports.observer import RunObserver, SilentObserver

DEFAULT_OWNER: Final = "langgraph-openai-serve"
DEFAULT_CREATED: Final = 1720000000
EXTENSION_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts of an OpenAI Model object that come from the deployment and not from the graph."""

    created: int = DEFAULT_CREATED
    """Unix seconds."""
    owned_by: str = DEFAULT_OWNER
    retention_seconds: int | None = None
    """How long a paused run waits for its answers before it may be swept away."""


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """One graph under its public name, ready to run."""

    id: str
    config: GraphConfig
    graph: Graph
    info: ModelInfo
    settings: SettingsResolver | None
    features: frozenset[GraphFeature] = field(default_factory=frozenset)

    def listing(self) -> dict[str, Any]:
        """Return the Model object of `GET /v1/models`."""
        return {
            "id": self.id,
            "object": "model",
            "created": self.info.created,
            "owned_by": self.info.owned_by,
            "lgos": {
                "schema_version": EXTENSION_VERSION,
                "description": self.config.description,
                "features": sorted(self.features),
            },
        }

    def detail(self) -> dict[str, Any]:
        """Return the Model object of `GET /v1/models/{model}`, with its settings descriptor if it has one."""
        document = self.listing()
        if self.settings is not None:
            document["lgos"]["client_settings"] = self.settings.descriptor()
        return document


class GraphRegistry:
    """Graphs by their public model name.

    Args:
        graphs: Public model name to config.
        models: Facts of the Model objects; left out, defaults.
        observer: Told about every run.
        run_coordinator: Keeps runs of one operation apart; left out, within this process only.

    Raises:
        ConfigurationError: A name or a config cannot be served; the message names it.
    """

    def __init__(
        self,
        graphs: Mapping[str, GraphConfig],
        *,
        models: Mapping[str, ModelInfo] | None = None,
        observer: RunObserver | None = None,
        run_coordinator: RunCoordinator | None = None,
    ) -> None:
        self.observer: RunObserver = observer or SilentObserver()
        self.run_coordinator: RunCoordinator = run_coordinator or InMemoryRunCoordinator()
        infos = models or {}
        self._models = {
            name: _register(name, config, infos.get(name, ModelInfo()), self.observer)
            for name, config in graphs.items()
        }

    def __iter__(self) -> Iterator[RegisteredModel]:
        return iter(self._models.values())

    def __len__(self) -> int:
        return len(self._models)

    def get(self, name: str) -> RegisteredModel:
        """Return the model `name`.

        Raises:
            ModelNotFound: No graph has this name.
        """
        model = self.find(name)
        if model is None:
            raise ModelNotFound(name)
        return model

    def find(self, name: str) -> RegisteredModel | None:
        """Return the model `name`, or `None`."""
        return self._models.get(name)


def _register(
    name: str, config: GraphConfig, info: ModelInfo, observer: RunObserver
) -> RegisteredModel:
    if not name:
        msg = "a model needs a name"
        raise ConfigurationError(msg)
    if not config.description.strip():
        msg = f"model '{name}' needs a description"
        raise ConfigurationError(msg)
    if config.settings_overrides and config.client_settings is None:
        msg = f"model '{name}' is given settings, but its GraphConfig has no client_settings"
        raise ConfigurationError(msg)
    settings = None
    if config.client_settings is not None:
        settings = SettingsResolver(name, config.client_settings, config.settings_overrides)
    graph = config.compiled()
    if GraphFeature.INTERRUPTS in config.features:
        graph = _pausable(name, graph, observer)
    return RegisteredModel(
        id=name,
        config=config,
        graph=graph,
        info=info,
        settings=settings,
        features=frozenset(config.features),
    )


def _pausable(name: str, graph: Graph, observer: RunObserver) -> Graph:
    """Return the graph with its checkpointer guarded by run leases.

    Raises:
        ConfigurationError: It cannot be paused and resumed.
    """
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        msg = (
            f"model '{name}' declares interrupts, but its graph has no checkpointer to pause in;"
            " compile it with .compile(checkpointer=…)"
        )
        raise ConfigurationError(msg)
    if graph.interrupt_before_nodes or graph.interrupt_after_nodes:
        msg = (
            f"model '{name}' has static breakpoints (interrupt_before, interrupt_after), which nobody can"
            " answer; call interrupt() in a node instead"
        )
        raise ConfigurationError(msg)
    return graph.copy({"checkpointer": guarded(graph.checkpointer, observer)})
