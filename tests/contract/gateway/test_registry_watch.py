"""The catalog follows the registry ConfigMaps of an API server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway_kit.registry_api import RegistryApi, registry_api
from gateway_kit.served import DEADLINE_SECONDS, data_of, entry
from lgos_gateway.catalog import Catalog
from lgos_gateway.watcher import RegistryWatch
from lgos_kube.client import KubeClient
from lgos_kube.config import KubeConfig


class Followed:
    """A catalog that tells when it changed."""

    def __init__(self) -> None:
        self.catalog = Catalog(self._changed)
        self._event = asyncio.Event()

    def _changed(self, _models: frozenset[str]) -> None:
        if hasattr(self, "_event"):
            self._event.set()

    @property
    def ids(self) -> list[str]:
        return [model["id"] for model in json.loads(self.catalog.listing)["data"]]

    async def until(self, *ids: str) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.ids != list(ids):
                self._event.clear()
                await self._event.wait()


@asynccontextmanager
async def following(
    api: RegistryApi, *namespaces: str, keep_seconds: float = 30.0
) -> AsyncIterator[tuple[Followed, RegistryWatch]]:
    followed = Followed()
    config = KubeConfig(server=f"http://127.0.0.1:{api.port}")
    async with KubeClient(config, user_agent="test") as client:
        watch = RegistryWatch(client, followed.catalog, namespaces, keep_seconds=keep_seconds)
        assert not watch.is_synced
        running = asyncio.create_task(watch.run())
        try:
            yield followed, watch
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


@pytest.fixture
async def api() -> AsyncIterator[RegistryApi]:
    async with registry_api() as running:
        running.put("team-a", data_of(entry("a")))
        running.put("team-b", data_of(entry("b", namespace="team-b")))
        yield running


async def test_the_first_list_fills_the_catalog_and_makes_ready(api: RegistryApi) -> None:
    async with following(api) as (followed, watch):
        await followed.until("a", "b")
        assert watch.is_synced
        assert watch.age_seconds < DEADLINE_SECONDS


async def test_a_new_key_is_routed_and_a_removed_one_is_gone(api: RegistryApi) -> None:
    async with following(api) as (followed, _):
        await followed.until("a", "b")
        api.put("team-a", data_of(entry("a"), entry("new")))
        await followed.until("a", "b", "new")
        api.put("team-a", {})
        await followed.until("b")


async def test_only_listed_namespaces_are_asked_for(api: RegistryApi) -> None:
    async with following(api, "team-b", "team-c") as (followed, watch):
        await followed.until("b")
        api.put("team-c", data_of(entry("c", namespace="team-c")))
        await followed.until("b", "c")
        assert watch.is_synced
    assert {path for path, _ in api.requests} == {
        "/api/v1/namespaces/team-b/configmaps",
        "/api/v1/namespaces/team-c/configmaps",
    }


async def test_a_vanished_configmap_keeps_its_models_until_it_is_made_again(
    api: RegistryApi,
) -> None:
    async with following(api) as (followed, _):
        await followed.until("a", "b")
        api.delete("team-a")
        api.put("team-b", data_of(entry("later", namespace="team-b")))
        await followed.until("a", "later")
        api.put("team-a", data_of(entry("again")))
        await followed.until("again", "later")


async def test_a_vanished_configmap_that_stays_away_loses_its_models(api: RegistryApi) -> None:
    async with following(api, keep_seconds=0.05) as (followed, _):
        await followed.until("a", "b")
        api.delete("team-a")
        await followed.until("b")


async def test_what_changed_while_the_watch_was_down_is_found(api: RegistryApi) -> None:
    async with following(api) as (followed, _):
        await followed.until("a", "b")
        api.is_down = True
        api.cut_watches()
        api.put("team-a", data_of(entry("c")))
        assert followed.ids == ["a", "b"], "the last known models are served meanwhile"
        api.is_down = False
        await followed.until("b", "c")
