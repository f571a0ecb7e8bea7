"""The writer of the model registry: one ConfigMap a namespace, one key a model.

Reconciling says what entry a model should have; this module compares all wanted entries of a namespace with the
ConfigMap in the cache and sends one merge patch of the keys that differ. The first change after a quiet time goes out
at once, the following ones are gathered for 300 ms. Keys whose LanggraphModel is gone are removed, which is why models
need no finalizer. A patch that would grow the ConfigMap past what Kubernetes stores is not sent: the entries that do
not fit wait until others leave.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from lgos_contract.registry import REGISTRY_NAME, RegistryEntry, load_entry, registry_key
from lgos_kube.errors import ApiError, Conflict, KubeError, NotFound
from lgos_operator.cluster import Cluster
from lgos_operator.desired import registry_config_map
from lgos_operator.models import ModelCache
from lgos_operator.resource import Key
from lgos_operator.status import Verdict, fails

logger = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 0.3
"""Time between two writes of one ConfigMap, in which changes are gathered."""
GATHER_SECONDS: Final = 0.01
"""Time in which the first changes after a quiet time are gathered."""
RETRY_SECONDS_MAX: Final = 60.0
BYTES_MAX: Final = 1_000_000
"""Kubernetes stores at most 1,048,576 bytes in a ConfigMap."""
_FULL: Final = fails(
    "RegistryFull",
    f"The model registry {REGISTRY_NAME} of this namespace is full: delete models, shorten descriptions and settings, "
    "or put the model into another namespace.",
)


class RegistryWriter:
    """Keeps the registry ConfigMaps as they should be.

    Args:
        cluster: Where the ConfigMaps are.
        models: All LanggraphModels: a key without one is removed.
        settled: Told of each model whose entry was written, or cannot be.
        bytes_max: Bytes of keys and entries that one ConfigMap may hold.
    """

    def __init__(
        self,
        cluster: Cluster,
        models: ModelCache,
        settled: Callable[[Key], None],
        *,
        bytes_max: int = BYTES_MAX,
    ) -> None:
        self._cluster = cluster
        self._models = models
        self._settled = settled
        self._bytes_max = bytes_max
        self._wanted: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
        self._problems: dict[Key, Verdict] = {}
        self._due: dict[str, float] = {}
        self._quiet_until: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._woken = asyncio.Event()

    def want(self, key: Key, text: str | None) -> None:
        """Say what entry a model should have; `None` for none."""
        namespace, name = key
        self._wanted[namespace][name] = text
        if self._data(namespace).get(registry_key(name)) == text:
            self._problems.pop(key, None)
        else:
            self.touch(namespace)

    def forget(self, key: Key) -> None:
        """Remove the entry of a model that is gone."""
        namespace, name = key
        self._wanted[namespace].pop(name, None)
        self._problems.pop(key, None)
        if registry_key(name) in self._data(namespace):
            self.touch(namespace)

    def has(self, key: Key, text: str) -> bool:
        """Whether the registry has exactly this entry of a model."""
        return self._data(key[0]).get(registry_key(key[1])) == text

    def entry(self, key: Key) -> RegistryEntry | None:
        """Return the entry that the registry has of a model, if it can be read."""
        text = self._data(key[0]).get(registry_key(key[1]))
        if text is None:
            return None
        try:
            return load_entry(text)
        except ValueError:
            logger.warning("the registry entry of %s/%s cannot be read and is replaced", *key)
            return None

    def problem(self, key: Key) -> Verdict | None:
        """Return why the entry of a model could not be written."""
        return self._problems.get(key)

    def touch(self, namespace: str) -> None:
        """Ask for a comparison of a namespace's registry."""
        now = asyncio.get_running_loop().time()
        due = max(now + GATHER_SECONDS, self._quiet_until.get(namespace, 0.0))
        self._due.setdefault(namespace, due)
        self._woken.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self.flush(await self._next())

    async def flush(self, namespace: str) -> None:
        """Compare one namespace's registry with what it should be and write what differs."""
        changes, refused = self._changes(namespace)
        for name, verdict in refused.items():
            self._settle((namespace, name), verdict)
        if not changes:
            return
        try:
            await self._write(namespace, changes)
        except KubeError as error:
            self._failed(namespace, changes, error)
            return
        self._failures.pop(namespace, None)
        self._quiet_until[namespace] = asyncio.get_running_loop().time() + PAUSE_SECONDS
        logger.info("registry of %s: wrote %d of its entries", namespace, len(changes))
        for key in changes:
            self._problems.pop((namespace, _name(key)), None)
            self._settled((namespace, _name(key)))

    async def _next(self) -> str:
        loop = asyncio.get_running_loop()
        while True:
            self._woken.clear()
            now = loop.time()
            if self._due:
                namespace = min(self._due, key=self._due.__getitem__)
                if self._due[namespace] <= now:
                    del self._due[namespace]
                    return namespace
                timer = loop.call_at(self._due[namespace], self._woken.set)
                await self._woken.wait()
                timer.cancel()
            else:
                await self._woken.wait()

    def _data(self, namespace: str) -> Mapping[str, str]:
        config_map = self._cluster.live("ConfigMap", (namespace, REGISTRY_NAME)) or {}
        return config_map.get("data") or {}

    def _changes(self, namespace: str) -> tuple[dict[str, str | None], dict[str, Verdict]]:
        live = self._data(namespace)
        wanted = self._wanted[namespace]
        changes: dict[str, str | None] = {
            key: None
            for key in live
            if (namespace, _name(key)) not in self._models or wanted.get(_name(key), "") is None
        }
        size = sum(_size(key, text) for key, text in live.items() if key not in changes)
        refused = {}
        # Entries that are there already come first: a change of a served model must not lose to a new one.
        for name in sorted(wanted, key=lambda name: registry_key(name) not in live):
            key, text = registry_key(name), wanted[name]
            if text is None or live.get(key) == text or (namespace, name) not in self._models:
                continue
            grown = size + _size(key, text) - (_size(key, live[key]) if key in live else 0)
            if grown > self._bytes_max:
                refused[name] = _FULL
            else:
                changes[key], size = text, grown
        return changes, refused

    async def _write(self, namespace: str, changes: dict[str, str | None]) -> None:
        known = self._cluster.live("ConfigMap", (namespace, REGISTRY_NAME)) is not None
        data = {key: text for key, text in changes.items() if text is not None}
        whole = registry_config_map(namespace, data)
        if known:
            try:
                await self._cluster.patch_registry(namespace, {"data": changes})
            except NotFound:
                await self._cluster.create_registry(whole)
            return
        try:
            await self._cluster.create_registry(whole)
        except Conflict:
            # It exists without our label, so the watch does not show it: take it over.
            labels = {"labels": whole["metadata"]["labels"]}
            await self._cluster.patch_registry(namespace, {"metadata": labels, "data": changes})

    def _failed(self, namespace: str, changes: Mapping[str, str | None], error: KubeError) -> None:
        failures = self._failures.get(namespace, 0)
        self._failures[namespace] = failures + 1
        delay = min(2.0 ** min(failures, 10), RETRY_SECONDS_MAX)
        self._due[namespace] = asyncio.get_running_loop().time() + delay
        logger.warning("registry of %s: %s; trying again in %.0f s", namespace, error, delay)
        if isinstance(error, ApiError) and error.code in (403, 413, 422):
            verdict = fails("WriteFailed", f"The model registry cannot be written: {error.message}")
            for key in changes:
                self._settle((namespace, _name(key)), verdict)

    def _settle(self, key: Key, verdict: Verdict) -> None:
        if key in self._models and self._problems.get(key) != verdict:
            self._problems[key] = verdict
            self._settled(key)


def _name(key: str) -> str:
    return key.removesuffix(".json")


def _size(key: str, text: str) -> int:
    return len(key) + len(text.encode())
