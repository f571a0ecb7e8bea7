"""The part of a Kubernetes API server that the gateway talks to: list and watch of ConfigMaps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from lgos_contract.registry import REGISTRY_NAME

Object = dict[str, Any]


@dataclass
class RegistryApi:
    """Registry ConfigMaps by namespace, with the watches that follow them."""

    port: int = 0
    version: int = 100
    objects: dict[str, Object] = field(default_factory=dict)
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    is_down: bool = False
    _history: list[tuple[int, str, Object]] = field(default_factory=list)
    _watches: list[tuple[str, asyncio.Queue[Object | None]]] = field(default_factory=list)

    def put(self, namespace: str, data: Mapping[str, str]) -> None:
        kind = "MODIFIED" if namespace in self.objects else "ADDED"
        metadata = {"name": REGISTRY_NAME, "namespace": namespace, "uid": f"uid-{namespace}"}
        self.objects[namespace] = {"metadata": metadata, "data": dict(data)}
        self._tell(kind, namespace)

    def delete(self, namespace: str) -> None:
        self._tell("DELETED", namespace)
        del self.objects[namespace]

    def cut_watches(self) -> None:
        """End all watches, as an API server that goes away does."""
        for _, queue in self._watches:
            queue.put_nowait(None)

    def kubeconfig(self, folder: Path) -> Path:
        document = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(document))
        return path

    def _tell(self, kind: str, namespace: str) -> None:
        self.version += 1
        self.objects[namespace]["metadata"]["resourceVersion"] = str(self.version)
        event = json.loads(json.dumps({"type": kind, "object": self.objects[namespace]}))
        self._history.append((self.version, namespace, event))
        for of, queue in self._watches:
            if of in ("", namespace):
                queue.put_nowait(event)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.path, dict(request.query)))
        if self.is_down or request.query.get("fieldSelector") != f"metadata.name={REGISTRY_NAME}":
            status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not you"}
            return web.json_response(status, status=403)
        namespace = request.match_info.get("namespace", "")
        if request.query.get("watch") == "1":
            return await self._watch(request, namespace)
        items = [each for of, each in self.objects.items() if namespace in ("", of)]
        return web.json_response(
            {"metadata": {"resourceVersion": str(self.version)}, "items": items}
        )

    async def _watch(self, request: web.Request, namespace: str) -> web.StreamResponse:
        queue: asyncio.Queue[Object | None] = asyncio.Queue()
        for version, of, event in self._history:
            if version > int(request.query["resourceVersion"]) and namespace in ("", of):
                queue.put_nowait(event)
        self._watches.append((namespace, queue))
        answer = web.StreamResponse()
        await answer.prepare(request)
        while (told := await queue.get()) is not None:
            await answer.write(json.dumps(told).encode() + b"\n")
        self._watches.remove((namespace, queue))
        return answer


@asynccontextmanager
async def registry_api() -> AsyncIterator[RegistryApi]:
    """Serve it on a free loopback port."""
    api = RegistryApi()
    app = web.Application()
    app.router.add_get("/api/v1/configmaps", api.answer)
    app.router.add_get("/api/v1/namespaces/{namespace}/configmaps", api.answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    api.port = runner.addresses[0][1]
    try:
        yield api
    finally:
        api.cut_watches()
        await runner.cleanup()
