"""From a `GraphRequest` to what LangGraph is invoked with: settings, context, input, config."""

from __future__ import annotations

import inspect
import logging
import uuid
from collections.abc import Awaitable
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_openai_serve.errors import LgosError, RequestError, RunError
from langgraph_openai_serve.graph.registry import RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.graph.settings import SETTINGS_KEY, SETTINGS_PARAM

logger = logging.getLogger(__name__)


def resolve_settings(model: RegisteredModel, request: GraphRequest) -> Any:
    """Return the client settings of one request, or `None` for a graph without settings.

    Raises:
        RequestError: The settings are refused.
    """
    text = request.metadata.get(SETTINGS_KEY)
    if model.settings is None:
        if text is not None:
            msg = f"Model '{model.id}' has no client settings."
            raise RequestError(msg, param=SETTINGS_PARAM)
        return None
    return model.settings.resolve(text)


async def prepare(
    model: RegisteredModel, request: GraphRequest, settings: Any, *, needs_input: bool = True
) -> tuple[Any, Any]:
    """Return the graph's input and runtime context for one request.

    Args:
        model: The graph.
        request: What it is asked.
        settings: Its client settings.
        needs_input: Whether the graph starts from an input; one that goes on after a pause does not.

    Raises:
        RunError: An adapter raised.
    """
    config = model.config
    messages = list(request.messages)
    try:
        context = settings
        if config.context_factory is not None:
            context = await settled(config.context_factory(request, settings))
        graph_input: Any = {"messages": messages}
        if needs_input and config.request_to_input is not None:
            graph_input = await settled(config.request_to_input(request, messages))
    except LgosError:
        raise
    except Exception as error:
        logger.exception("adapter failed: model=%s request_id=%s", model.id, request.request_id)
        msg = f"{type(error).__name__} in an adapter of the graph"
        raise RunError(msg) from error
    return graph_input, context


def runnable_config(
    model: RegisteredModel, request: GraphRequest, thread: RunnableConfig | None = None
) -> RunnableConfig:
    """Return LangGraph's config of one run; `conversation_id` becomes the session that Langfuse recognises.

    Args:
        model: The graph.
        request: What it is asked.
        thread: Config of the thread that the run may pause in.
    """
    # LangGraph copies metadata into every step of a run, so there is only what somebody asked for.
    config: RunnableConfig = {"run_name": f"lgos:{model.id}"}
    if request.conversation_id is not None:
        config["metadata"] = {"langfuse_session_id": request.conversation_id}
    if thread is not None:
        config["metadata"] = {**thread["metadata"], **config.get("metadata", {})}
        config["configurable"] = {**thread["configurable"]}
    elif model.graph.checkpointer:
        # A graph with a checkpointer of its own needs a thread; nothing of an ordinary request is kept.
        config["configurable"] = {"thread_id": uuid.uuid4().hex}
    return config


async def settled(value: Any | Awaitable[Any]) -> Any:
    """Return the value of an adapter that may be sync or async."""
    return await value if inspect.isawaitable(value) else value
