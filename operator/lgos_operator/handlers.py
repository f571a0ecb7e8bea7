"""kopf as the watcher of LanggraphModels: the only module that names it.

Only `on.event` is used: it never writes to an object. kopf brings discovery, authentication, paged lists, watches that
survive the API server, and an exit when they cannot.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import kopf

from lgos_contract.manifest import GROUP, PLURAL, VERSION
from lgos_kube.config import SERVICE_ACCOUNT_DIR
from lgos_operator.models import ModelCache
from lgos_operator.resource import Key, Object


def watcher_settings() -> kopf.OperatorSettings:
    """Return the settings of a kopf that only watches."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    # Neither is used, but an accident must not leave kopf's own name in users' objects.
    settings.persistence.finalizer = "lgos.dev/kopf"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="kopf.lgos.dev")
    settings.peering.standalone = True
    # The resource and the namespaces are known: no right to list CRDs or namespaces is needed.
    settings.scanning.disabled = True
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    # After these pauses, a minute, kopf gives up and the program ends; the kubelet starts it again.
    settings.networking.error_backoffs = [1, 2, 4, 8, 15, 15, 15]
    settings.watching.server_timeout = 300
    settings.watching.chunk_size = 500
    settings.queueing.idle_timeout = 0.2
    settings.queueing.exit_timeout = 0.2
    settings.process.ultimate_exiting_timeout = 30
    return settings


def watcher_registry(models: ModelCache, relisted: Callable[[], None]) -> kopf.OperatorRegistry:
    """Return kopf's handlers: each event goes into the cache.

    Args:
        models: The cache.
        relisted: Told when kopf listed instead of watching; deletions may have been missed.
    """
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**arguments: Any) -> kopf.ConnectionInfo | None:
        in_pod = (SERVICE_ACCOUNT_DIR / "token").exists() and not os.environ.get("KUBECONFIG")
        method = kopf.login_with_service_account if in_pod else kopf.login_with_kubeconfig
        found: kopf.ConnectionInfo | None = method(**arguments)
        return found

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    async def observe(event: Any, **_: Any) -> None:
        observed(models, relisted, event)

    return registry


def observed(models: ModelCache, relisted: Callable[[], None], event: Any) -> None:
    """Take one event of the watch in; its type is `None` when the object comes from a list."""
    obj: Object = dict(event["object"])
    metadata = dict(obj["metadata"])
    obj["metadata"] = metadata
    if event["type"] is None:
        relisted()
    if event["type"] == "DELETED":
        key: Key = (metadata["namespace"], metadata["name"])
        known = models.get(key)
        if known is not None and known["metadata"]["uid"] == metadata["uid"]:
            models.drop(key)
        return
    models.put(obj)


def watcher(
    models: ModelCache,
    relisted: Callable[[], None],
    namespaces: tuple[str, ...],
    started: asyncio.Event,
) -> Awaitable[None]:
    """Return the watcher, to be awaited; it sets `started`, and raises when it cannot go on."""
    return kopf.operator(
        registry=watcher_registry(models, relisted),
        settings=watcher_settings(),
        standalone=True,
        clusterwide=not namespaces,
        namespaces=namespaces,
        ready_flag=started,
    )
