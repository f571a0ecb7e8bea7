"""From the cluster's registry ConfigMaps to the catalog.

One list+watch over all namespaces, or one for each listed namespace, limited by name to `lgos-model-registry`. A
ConfigMap that vanishes keeps its models for `KEEP_SECONDS`: the operator makes a new one within seconds, and no model
must be missing meanwhile. A key that is taken out counts at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lgos_contract.registry import REGISTRY_NAME
from lgos_gateway.catalog import Catalog
from lgos_kube.client import KubeClient, Object
from lgos_kube.listwatch import Key, ListWatch

KEEP_SECONDS: Final = 30.0
SELECTOR: Final = {"fieldSelector": f"metadata.name={REGISTRY_NAME}"}


class RegistryWatch:
    """Follows the registry of a cluster and keeps a catalog true to it.

    Args:
        client: The connection to the API server.
        catalog: What is kept true.
        namespaces: Namespaces to follow; empty means all.
        keep_seconds: How long the models of a vanished ConfigMap stay.
    """

    def __init__(
        self,
        client: KubeClient,
        catalog: Catalog,
        namespaces: Sequence[str] = (),
        *,
        keep_seconds: float = KEEP_SECONDS,
    ) -> None:
        self._catalog = catalog
        self._keep_seconds = keep_seconds
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        self._watches = [
            ListWatch(client, path, params=SELECTOR, changed=self._follow)
            for path in _paths(namespaces)
        ]

    @property
    def is_synced(self) -> bool:
        """Whether every collection was listed once."""
        return all(watch.synced.is_set() for watch in self._watches)

    @property
    def age_seconds(self) -> float:
        """Seconds since the API server last confirmed the oldest part of the catalog."""
        now = asyncio.get_running_loop().time()
        return max(now - watch.last_event for watch in self._watches)

    async def run(self) -> None:
        """Follow the registry until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for watch in self._watches:
                    group.create_task(watch.run())
        finally:
            for timer in self._leaving.values():
                timer.cancel()

    def _follow(self, key: Key, _old: Object | None, new: Object | None) -> None:
        namespace, name = key
        if name != REGISTRY_NAME:
            return
        timer = self._leaving.pop(namespace, None)
        if timer is not None:
            timer.cancel()
        if new is not None:
            self._catalog.put(namespace, new.get("data") or {})
            return
        loop = asyncio.get_running_loop()
        self._leaving[namespace] = loop.call_later(self._keep_seconds, self._forget, namespace)

    def _forget(self, namespace: str) -> None:
        del self._leaving[namespace]
        self._catalog.remove(namespace)


def _paths(namespaces: Sequence[str]) -> list[str]:
    if not namespaces:
        return ["/api/v1/configmaps"]
    return [f"/api/v1/namespaces/{namespace}/configmaps" for namespace in namespaces]
