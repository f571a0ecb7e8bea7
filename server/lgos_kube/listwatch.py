"""A cache of one collection, kept true by list+watch.

The list says when it is complete, so what was deleted while a watch was down is found: keys that a new list does not
show leave the cache, unless the cached object is newer than the list (our own write, remembered before its event came).
A broken watch ends in a new list after a pause that grows from one to thirty seconds.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import aclosing

from lgos_kube.client import KubeClient, Object
from lgos_kube.errors import Gone, KubeError

logger = logging.getLogger(__name__)

Key = tuple[str, str]
"""Namespace and name."""
Changed = Callable[[Key, Object | None, Object | None], None]
"""Called with key, old object and new object; `None` where there is none. Synchronous, and must not raise."""

RETRY_SECONDS_MAX = 30.0


def key_of(obj: Object) -> Key:
    """Return namespace and name of an object; the namespace is empty for cluster-scoped kinds."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def version_of(obj: Object) -> int:
    """Return the resourceVersion as a number: larger is newer within one kind."""
    return int(obj["metadata"].get("resourceVersion") or 0)


class ListWatch:
    """One collection of the API server as a dictionary that follows it.

    Args:
        client: The connection.
        path: The collection, such as `/apis/apps/v1/deployments`.
        params: Selectors, such as `{"labelSelector": "a=b"}`.
        changed: Told of every difference, after the dictionary has it.
        trim: Makes a listed or watched object smaller before it is kept.
        relisted: Told when a list after the first one is complete: a watch was interrupted.
    """

    def __init__(
        self,
        client: KubeClient,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        changed: Changed,
        trim: Callable[[Object], Object] | None = None,
        relisted: Callable[[], None] | None = None,
    ) -> None:
        self.objects: dict[Key, Object] = {}
        self.synced = asyncio.Event()
        """Set when the first list is complete."""
        self.last_event = 0.0
        """Loop time of the last list, event or bookmark."""
        self.restarts = 0
        self._client = client
        self._path = path
        self._params = dict(params or {})
        self._changed = changed
        self._trim = trim or drop_managed_fields
        self._relisted = relisted

    async def run(self) -> None:
        """Follow the collection until cancelled."""
        failures = 0
        while True:
            try:
                version = await self._relist()
                failures = 0
                while True:
                    version = await self._follow(version)
            except Gone:
                logger.info("watch %s is too old; listing again", self._path)
            except KubeError as error:
                failures += 1
                pause = min(2.0 ** (failures - 1), RETRY_SECONDS_MAX) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
                logger.warning("watch %s: %s; trying again in %.1f s", self._path, error, pause)
                await asyncio.sleep(pause)
            self.restarts += 1

    def remember(self, obj: Object) -> None:
        """Put the answer of our own write into the cache, so that the next look sees it before its event."""
        obj = self._trim(obj)
        key = key_of(obj)
        known = self.objects.get(key)
        if known is None or version_of(obj) >= version_of(known):
            self.objects[key] = obj

    async def _relist(self) -> str:
        items, version = await self._client.list(self._path, params=self._params)
        self._tick()
        listed = set()
        for item in items:
            listed.add(key_of(item))
            self._put(item)
        newest = int(version or 0)
        for key in [k for k in self.objects if k not in listed]:
            if version_of(self.objects[key]) <= newest:
                self._drop(key)
        if self.synced.is_set() and self._relisted is not None:
            self._relisted()
        self.synced.set()
        return version

    async def _follow(self, version: str) -> str:
        stream = self._client.watch(self._path, resource_version=version, params=self._params)
        async with aclosing(stream):
            async for event in stream:
                self._tick()
                obj = event["object"]
                version = obj["metadata"]["resourceVersion"]
                if event["type"] == "DELETED":
                    self._drop(key_of(obj))
                elif event["type"] != "BOOKMARK":
                    self._put(obj)
        return version

    def _put(self, obj: Object) -> None:
        obj = self._trim(obj)
        key = key_of(obj)
        old = self.objects.get(key)
        if (
            old is not None
            and version_of(old) >= version_of(obj)
            and old["metadata"].get("uid") == obj["metadata"].get("uid")
        ):
            if version_of(old) == version_of(obj):
                self._changed(key, old, old)
            return
        self.objects[key] = obj
        self._changed(key, old, obj)

    def _drop(self, key: Key) -> None:
        old = self.objects.pop(key, None)
        if old is not None:
            self._changed(key, old, None)

    def _tick(self) -> None:
        self.last_event = asyncio.get_running_loop().time()


def drop_managed_fields(obj: Object) -> Object:
    """Remove `managedFields`, often half of an object and never looked at."""
    obj["metadata"].pop("managedFields", None)
    return obj
