"""The background engine of a pod: Hatchet, with one task for each model, so that each image takes only its own runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from langgraph_openai_serve.deploy.settings import ServeSettings
from langgraph_openai_serve.errors import ConfigurationError
from lgos_contract.environment import ENV_HATCHET_TOKEN, background_task

if TYPE_CHECKING:
    from langgraph_openai_serve.integrations.hatchet import Hatchet, ResponseTask
    from langgraph_openai_serve.ports.background import BackgroundBackend


def response_task(settings: ServeSettings) -> tuple[Hatchet, ResponseTask]:
    """Return the engine's client and the task of the pod's model.

    Raises:
        ConfigurationError: The engine's token or its package is missing.
    """
    if not settings.hatchet_token:
        msg = (
            f"model '{settings.model}' runs in the background, which takes a Hatchet engine: set"
            f" {ENV_HATCHET_TOKEN}, on Kubernetes in the Secret lgos-platform of the model's namespace"
        )
        raise ConfigurationError(msg)
    try:
        from langgraph_openai_serve.integrations.hatchet import Hatchet, create_hatchet_task
    except ImportError as error:
        msg = (
            f"model '{settings.model}' runs in the background, but {error.name} is not installed;"
            " add langgraph-openai-serve[hatchet] to the image"
        )
        raise ConfigurationError(msg) from error
    hatchet = Hatchet()
    task = create_hatchet_task(
        hatchet,
        name=background_task(settings.namespace, settings.model),
        schedule_timeout=timedelta(seconds=settings.schedule_timeout_seconds),
        execution_timeout=timedelta(seconds=settings.execution_timeout_seconds),
    )
    return hatchet, task


def background_backend(settings: ServeSettings) -> BackgroundBackend:
    """Return what the API process submits to.

    Raises:
        ConfigurationError: The engine's token or its package is missing.
    """
    hatchet, task = response_task(settings)
    from langgraph_openai_serve.integrations.hatchet import HatchetBackgroundBackend

    return HatchetBackgroundBackend(task, hatchet.runs)
