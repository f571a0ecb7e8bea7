"""An API server in memory: enough of lists, watches, merge patches and applies for the operator's unit tests.

It keeps no field ownership and no defaults; the cluster tests have a real one for that.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Mapping
from copy import deepcopy
from typing import Any

from lgos_kube.errors import api_error

Object = dict[str, Any]


class FakeApi:
    """Implements the parts of `KubeClient` that the operator uses."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.calls: list[tuple[str, str]] = []
        self.failures: dict[tuple[str, str], tuple[int, str]] = {}
        """Method and path that fail, with code and message."""
        self._versions = itertools.count(10)
        self._watchers: list[tuple[str, asyncio.Queue[Object | None]]] = []

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [call for call in self.calls if call[0] != "GET"]

    def put(self, path: str, obj: Object) -> Object:
        """Store an object and tell the watchers."""
        known = path in self.objects
        stored = deepcopy(obj)
        metadata = stored["metadata"]
        metadata["resourceVersion"] = str(next(self._versions))
        metadata.setdefault("uid", f"uid-{path}")
        metadata.setdefault("generation", 1)
        self.objects[path] = stored
        self._tell("MODIFIED" if known else "ADDED", path, stored)
        return deepcopy(stored)

    def remove(self, path: str) -> None:
        """Delete an object and tell the watchers."""
        stored = self.objects.pop(path)
        stored["metadata"]["resourceVersion"] = str(next(self._versions))
        self._tell("DELETED", path, stored)

    def forget(self, path: str) -> None:
        """Delete an object without a word, as while no watch is open."""
        del self.objects[path]
        next(self._versions)

    def end_watches(self) -> None:
        """Answer all watches with 410: they must list again."""
        for _, queue in self._watchers:
            queue.put_nowait(None)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,  # noqa: ARG002 - the port's signature
        body: Object | None = None,
        content_type: str = "application/json",  # noqa: ARG002 - the port's signature
        accept: str = "application/json",  # noqa: ARG002 - the port's signature
    ) -> Object:
        self._count(method, path)
        if method == "POST":
            assert body is not None
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                raise api_error(409, {"message": "already exists"})
            return self.put(path, body)
        if method == "PATCH":
            assert body is not None
            seen = {"status": {"observedGeneration": 1}} if "/deployments/" in path else {}
            return self.put(path, _merged(self.objects.get(path, seen), body))
        if path not in self.objects:
            raise api_error(404, {"message": "not found"})
        if method == "DELETE":
            self.remove(path)
            return {}
        return deepcopy(self.objects[path])

    async def merge_patch(self, path: str, body: Object, *, field_manager: str) -> Object:  # noqa: ARG002 - the port's signature
        self._count("PATCH", path)
        target = path.removesuffix("/status")
        if target not in self.objects:
            raise api_error(404, {"message": "not found"})
        return self.put(target, _merged(self.objects[target], body))

    async def list(
        self,
        path: str,
        *,
        params: Mapping[str, str] | None = None,  # noqa: ARG002 - the port's signature
        accept: str = "application/json",  # noqa: ARG002 - the port's signature
    ) -> tuple[list[Object], str]:
        self._count("GET", path)
        items = [deepcopy(obj) for at, obj in self.objects.items() if _within(path, at)]
        return items, str(next(self._versions))

    async def watch(
        self,
        path: str,
        *,
        resource_version: str,  # noqa: ARG002 - the port's signature
        params: Mapping[str, str] | None = None,  # noqa: ARG002 - the port's signature
    ) -> AsyncGenerator[Object, None]:
        queue: asyncio.Queue[Object | None] = asyncio.Queue()
        entry = (path, queue)
        self._watchers.append(entry)
        try:
            while (event := await queue.get()) is not None:
                yield event
            raise api_error(410, {"message": "too old"})
        finally:
            self._watchers.remove(entry)

    def _count(self, method: str, path: str) -> None:
        self.calls.append((method, path))
        failure = self.failures.get((method, path))
        if failure is not None:
            raise api_error(failure[0], {"message": failure[1]})

    def _tell(self, kind: str, path: str, obj: Object) -> None:
        for collection, queue in self._watchers:
            if _within(collection, path):
                queue.put_nowait({"type": kind, "object": deepcopy(obj)})


def _within(collection: str, path: str) -> bool:
    """Whether an object is in a collection, be it one namespace's or all namespaces'."""
    at = path.rpartition("/")[0]
    if at == collection:
        return True
    head, _, plural = collection.rpartition("/")
    return at.startswith(f"{head}/namespaces/") and at.endswith(f"/{plural}")


def _merged(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return deepcopy(patch)
    found = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _merged(found.get(key), value)
    return found
