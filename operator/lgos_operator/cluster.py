"""The only module that writes to the Kubernetes API, and the caches of what the operator owns there.

Children are followed by one list+watch a kind (and namespace), selected by label, so that memory and start-up grow with
our own objects only. Writes are server-side applies by one field manager, forced, with unknown fields refused; each
answer goes into the cache, so that the next look does not write again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from lgos_contract.registry import REGISTRY_NAME
from lgos_kube.client import APPLY_PATCH, METADATA_LIST, Object
from lgos_kube.errors import NotFound
from lgos_kube.listwatch import Key, ListWatch, version_of
from lgos_operator.names import FIELD_MANAGER, MANAGED_SELECTOR, MODELS_PATH

logger = logging.getLogger(__name__)

_COLLECTIONS: Final = {
    "Deployment": ("/apis/apps/v1", "deployments"),
    "Service": ("/api/v1", "services"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "HorizontalPodAutoscaler": ("/apis/autoscaling/v2", "horizontalpodautoscalers"),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
}
CHILD_KINDS: Final = (
    "Deployment",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
    "Service",
    "ServiceAccount",
)

ChildChanged = Callable[[str, Key, Object | None, Object | None], None]
"""Called with kind, key, old object and new object. Synchronous, and must not raise."""


class Client(Protocol):
    """The part of `lgos_kube.KubeClient` that the operator uses."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Object:
        """Send one request and return the JSON answer."""
        ...

    async def merge_patch(self, path: str, body: Object, *, field_manager: str) -> Object:
        """Change an object by a JSON merge patch."""
        ...

    async def list(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        accept: str = "application/json",
    ) -> tuple[list[Object], str]:
        """Return all items of a collection and the list's resourceVersion."""
        ...


class Cluster:
    """The objects that the operator owns: read from the cache, written through the API.

    Args:
        client: The connection.
        watches: One `ListWatch` for each of `watch_paths`, by kind and namespace (empty: all).
        namespaces: The watched namespaces; empty means all.
    """

    def __init__(
        self,
        client: Client,
        watches: Mapping[tuple[str, str], ListWatch],
        namespaces: tuple[str, ...] = (),
    ) -> None:
        self.watches = watches
        self._client = client
        self._namespaces = namespaces

    async def run(self) -> None:
        """Follow all collections until cancelled."""
        async with asyncio.TaskGroup() as group:
            for watch in self.watches.values():
                group.create_task(watch.run())

    async def synced(self) -> None:
        """Wait until each collection was listed once."""
        for watch in self.watches.values():
            await watch.synced.wait()

    def live(self, kind: str, key: Key) -> Object | None:
        """Return an object of ours from the cache."""
        watch = self._watch(kind, key[0])
        return watch.objects.get(key) if watch else None

    def count(self, kind: str) -> int:
        """Return how many objects of a kind are in the cache."""
        return sum(len(watch.objects) for (of, _), watch in self.watches.items() if of == kind)

    async def get(self, kind: str, key: Key) -> Object | None:
        """Read one object from the API, whoever owns it."""
        try:
            return await self._client.request("GET", object_path(kind, key))
        except NotFound:
            return None

    async def apply(self, obj: Object, *, manager: str = FIELD_MANAGER) -> None:
        """Create or change an object by server-side apply, in the name of a field manager."""
        kind, key = obj["kind"], (obj["metadata"]["namespace"], obj["metadata"]["name"])
        params = {"fieldManager": manager, "force": "true", "fieldValidation": "Strict"}
        answer = await self._client.request(
            "PATCH", object_path(kind, key), params=params, body=obj, content_type=APPLY_PATCH
        )
        self._remember(kind, answer)
        logger.info("applied %s %s/%s", kind, *key)

    async def delete(self, kind: str, key: Key, *, uid: str) -> None:
        """Delete an object, if it still is the one with this uid."""
        body: Object = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        try:
            await self._client.request("DELETE", object_path(kind, key), body=body)
        except NotFound:
            return
        logger.info("deleted %s %s/%s", kind, *key)

    async def create_registry(self, config_map: Object) -> None:
        """Create the registry ConfigMap of a namespace."""
        namespace = config_map["metadata"]["namespace"]
        answer = await self._client.request(
            "POST",
            collection_path("ConfigMap", namespace),
            params={"fieldManager": FIELD_MANAGER},
            body=config_map,
        )
        self._remember("ConfigMap", answer)

    async def create_event(self, event: Object) -> None:
        """Write one Kubernetes Event."""
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        await self._client.request("POST", path, body=event)

    async def patch_registry(self, namespace: str, body: Object) -> None:
        """Change keys of the registry ConfigMap of a namespace."""
        path = object_path("ConfigMap", (namespace, REGISTRY_NAME))
        answer = await self._client.merge_patch(path, body, field_manager=FIELD_MANAGER)
        self._remember("ConfigMap", answer)

    async def patch_status(self, key: Key, patch: Object, *, uid: str) -> Object:
        """Change top-level fields of a LanggraphModel's status and return the LanggraphModel.

        Raises:
            Conflict: The LanggraphModel of this name is another one by now.
        """
        path = f"{models_path(key[0])}/{key[1]}/status"
        body: Object = {"metadata": {"uid": uid}, "status": patch}
        return await self._client.merge_patch(path, body, field_manager=FIELD_MANAGER)

    async def pods(self, namespace: str, selector: Mapping[str, str]) -> list[Object]:
        """Read the pods that a selector matches."""
        labels = ",".join(f"{name}={value}" for name, value in sorted(selector.items()))
        path = f"/api/v1/namespaces/{namespace}/pods"
        return (await self._client.list(path, params={"labelSelector": labels}))[0]

    async def list_models(self) -> tuple[dict[Key, str], int]:
        """Read namespace, name and uid of all LanggraphModels, and the lowest resourceVersion of the lists."""
        uids: dict[Key, str] = {}
        versions = []
        for namespace in self._namespaces or ("",):
            items, version = await self._client.list(models_path(namespace), accept=METADATA_LIST)
            versions.append(int(version or 0))
            for item in items:
                metadata = item["metadata"]
                uids[metadata["namespace"], metadata["name"]] = metadata["uid"]
        return uids, min(versions)

    def _watch(self, kind: str, namespace: str) -> ListWatch | None:
        return self.watches.get((kind, "")) or self.watches.get((kind, namespace))

    def _remember(self, kind: str, answer: Object) -> None:
        watch = self._watch(kind, answer["metadata"]["namespace"])
        if watch is not None and version_of(answer):
            watch.remember(answer)


def watch_paths(namespaces: tuple[str, ...]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield kind, namespace and path of each collection to follow."""
    for kind in _COLLECTIONS:
        for namespace in namespaces or ("",):
            yield (kind, namespace), collection_path(kind, namespace)


WATCH_PARAMS: Final = {"labelSelector": MANAGED_SELECTOR}


def collection_path(kind: str, namespace: str) -> str:
    """Return the path of a collection; an empty namespace means all."""
    prefix, plural = _COLLECTIONS[kind]
    return f"{prefix}/namespaces/{namespace}/{plural}" if namespace else f"{prefix}/{plural}"


def object_path(kind: str, key: Key) -> str:
    """Return the path of one object."""
    return f"{collection_path(kind, key[0])}/{key[1]}"


def models_path(namespace: str) -> str:
    """Return the path of the LanggraphModels of a namespace; empty means all."""
    if not namespace:
        return MODELS_PATH
    group, _, plural = MODELS_PATH.rpartition("/")
    return f"{group}/namespaces/{namespace}/{plural}"
