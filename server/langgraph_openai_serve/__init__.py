"""Serve LangGraph graphs through the OpenAI API."""

from langgraph_openai_serve.errors import ConfigurationError, LgosError
from langgraph_openai_serve.graph.config import GraphConfig, GraphFeature
from langgraph_openai_serve.graph.registry import GraphRegistry, ModelInfo
from langgraph_openai_serve.graph.request import GraphRequest, NamedTool
from langgraph_openai_serve.graph.settings import ClientSettings
from langgraph_openai_serve.graph.status import status_event
from langgraph_openai_serve.run.citations import citation_slice
from langgraph_openai_serve.web.errors import OpenAIHTTPException
from langgraph_openai_serve.web.exchange import Limits
from langgraph_openai_serve.web.server import LanggraphOpenaiServe

__all__ = [
    "ClientSettings",
    "ConfigurationError",
    "GraphConfig",
    "GraphFeature",
    "GraphRegistry",
    "GraphRequest",
    "LanggraphOpenaiServe",
    "LgosError",
    "Limits",
    "ModelInfo",
    "NamedTool",
    "OpenAIHTTPException",
    "citation_slice",
    "status_event",
]
