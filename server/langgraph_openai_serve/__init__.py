"""Serve LangGraph graphs through the OpenAI API.

The names below are loaded when they are first used: `lgos gateway` and `lgos operator` start from this package and must
not pay for LangGraph and FastAPI.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from langgraph_openai_serve.background.execute import execute_background_job
    from langgraph_openai_serve.background.memory import InMemoryBackgroundBackend
    from langgraph_openai_serve.errors import ConfigurationError, LgosError
    from langgraph_openai_serve.graph.config import GraphConfig, GraphFeature, UnsupportedFields
    from langgraph_openai_serve.graph.registry import GraphRegistry, ModelInfo
    from langgraph_openai_serve.graph.request import GraphRequest, NamedTool
    from langgraph_openai_serve.graph.resources import PlatformResources
    from langgraph_openai_serve.graph.settings import ClientSettings
    from langgraph_openai_serve.graph.status import status_event
    from langgraph_openai_serve.ports.background import (
        BackgroundBackend,
        BackgroundJob,
        BackgroundRun,
        BackgroundStatus,
    )
    from langgraph_openai_serve.ports.coordinator import (
        InMemoryRunCoordinator,
        RunCoordinator,
        RunKey,
        RunLease,
    )
    from langgraph_openai_serve.run.citations import citation_slice
    from langgraph_openai_serve.web.errors import OpenAIHTTPException
    from langgraph_openai_serve.web.exchange import Limits
    from langgraph_openai_serve.web.server import LanggraphOpenaiServe

__all__ = [
    "BackgroundBackend",
    "BackgroundJob",
    "BackgroundRun",
    "BackgroundStatus",
    "ClientSettings",
    "ConfigurationError",
    "GraphConfig",
    "GraphFeature",
    "GraphRegistry",
    "GraphRequest",
    "InMemoryBackgroundBackend",
    "InMemoryRunCoordinator",
    "LanggraphOpenaiServe",
    "LgosError",
    "Limits",
    "ModelInfo",
    "NamedTool",
    "OpenAIHTTPException",
    "PlatformResources",
    "RunCoordinator",
    "RunKey",
    "RunLease",
    "UnsupportedFields",
    "citation_slice",
    "execute_background_job",
    "status_event",
]

_HOMES: Final = {
    "background.execute": ("execute_background_job",),
    "background.memory": ("InMemoryBackgroundBackend",),
    "errors": ("ConfigurationError", "LgosError"),
    "graph.config": ("GraphConfig", "GraphFeature", "UnsupportedFields"),
    "graph.registry": ("GraphRegistry", "ModelInfo"),
    "graph.request": ("GraphRequest", "NamedTool"),
    "graph.resources": ("PlatformResources",),
    "graph.settings": ("ClientSettings",),
    "graph.status": ("status_event",),
    "ports.background": (
        "BackgroundBackend",
        "BackgroundJob",
        "BackgroundRun",
        "BackgroundStatus",
    ),
    "ports.coordinator": ("InMemoryRunCoordinator", "RunCoordinator", "RunKey", "RunLease"),
    "run.citations": ("citation_slice",),
    "web.errors": ("OpenAIHTTPException",),
    "web.exchange": ("Limits",),
    "web.server": ("LanggraphOpenaiServe",),
}
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
