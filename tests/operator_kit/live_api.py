"""A real API server as the operator's tests see it: a few verbs on paths, and waiting with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from lgos_kube.client import KubeClient
from lgos_kube.errors import Conflict, NotFound

Object = dict[str, Any]
T = TypeVar("T")

COLLECTIONS = {
    "LanggraphModel": "/apis/lgos.dev/v1alpha1/namespaces/{}/langgraphmodels",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "Event": "/api/v1/namespaces/{}/events",
    "Pod": "/api/v1/namespaces/{}/pods",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
}
MODEL_KINDS = ("LanggraphModel", "Deployment", "Service", "ServiceAccount")


class LiveApi:
    """One namespace of a real API server."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def path(self, kind: str, name: str = "") -> str:
        collection = COLLECTIONS[kind].format(self.namespace)
        return f"{collection}/{name}" if name else collection

    async def create(self, obj: Object, **params: str) -> Object:
        return await self.client.request("POST", self.path(obj["kind"]), body=obj, params=params)

    async def get(self, kind: str, name: str) -> Object | None:
        try:
            return await self.client.request("GET", self.path(kind, name))
        except NotFound:
            return None

    async def list(self, kind: str, selector: str = "") -> list[Object]:
        params = {"labelSelector": selector} if selector else None
        return (await self.client.list(self.path(kind), params=params))[0]

    async def merge(self, kind: str, name: str, body: Object, sub: str = "") -> Object:
        path = self.path(kind, name) + (f"/{sub}" if sub else "")
        return await self.client.merge_patch(path, body, field_manager="test")

    async def delete(self, kind: str, name: str) -> None:
        await self.client.request("DELETE", self.path(kind, name))

    async def model(self, name: str) -> Object:
        found = await self.get("LanggraphModel", name)
        assert found is not None, f"no LanggraphModel {name}"
        return found

    async def condition(self, name: str, kind: str) -> Object:
        found = (await self.model(name)).get("status") or {}
        for condition in found.get("conditions") or ():
            if condition["type"] == kind:
                return condition
        return {"status": None, "reason": None, "message": ""}

    async def condition_becomes(
        self, name: str, kind: str, status: str, reason: str | None = None, *, within: float = 15
    ) -> Object:
        async def look() -> Object | None:
            found = await self.condition(name, kind)
            fits = found["status"] == status and reason in (None, found["reason"])
            return found if fits else None

        async def tell() -> str:
            return str(await self.condition(name, kind))

        return await eventually(look, within=within, otherwise=tell)

    async def registry(self) -> dict[str, str]:
        config_map = await self.get("ConfigMap", "lgos-model-registry")
        return dict((config_map or {}).get("data") or {})

    async def pods(self, model: str) -> list[Object]:
        selector = f"app.kubernetes.io/instance={model}"
        pods = await self.list("Pod", selector)
        return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]

    async def become_ready(self, model: str) -> None:
        """Play the kubelet: say that all pods of a model's newest revision run and are ready."""

        async def look() -> bool | None:
            deployment = await self.get("Deployment", f"{model}-api")
            if deployment is None:
                return None
            for pod in await self.pods(model):
                await self.set_pod(pod, ready_status())
            status = deployment.get("status") or {}
            wanted = deployment["spec"]["replicas"]
            done = (
                status.get("availableReplicas", 0) == status.get("updatedReplicas", 0) == wanted
                and status.get("replicas", 0) == wanted
                and status.get("observedGeneration") == deployment["metadata"]["generation"]
            )
            return done or None

        await eventually(look, within=30)

    async def set_pod(self, pod: Object, status: Object) -> None:
        try:
            await self.merge("Pod", pod["metadata"]["name"], {"status": status}, "status")
        except (NotFound, Conflict):
            return

    async def versions(self) -> dict[tuple[str, str], str]:
        """Return the resourceVersion of everything that belongs to models."""
        found = {}
        for kind in (*MODEL_KINDS, "ConfigMap"):
            for obj in await self.list(kind):
                metadata = obj["metadata"]
                found[kind, metadata["name"]] = metadata["resourceVersion"]
        return found


def ready_status() -> Object:
    when = "2026-01-02T03:04:05Z"
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": when}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": None,
    }


def container_status(**state: Any) -> Object:
    """Return a pod status whose container is in `state`, as a kubelet reports it."""
    container = {
        "name": "api",
        "image": "x",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        **state,
    }
    return {"containerStatuses": [container]}


async def eventually(
    look: Callable[[], Awaitable[T | None]],
    *,
    within: float = 15,
    otherwise: Callable[[], Awaitable[str]] | None = None,
) -> T:
    """Look until there is something, or fail after `within` seconds with what `otherwise` tells."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while True:
        found = await look()
        if found is not None:
            return found
        if loop.time() > end:
            told = await otherwise() if otherwise else ""
            msg = f"did not happen within {within} s: {told}"
            raise AssertionError(msg)
        await asyncio.sleep(0.05)
