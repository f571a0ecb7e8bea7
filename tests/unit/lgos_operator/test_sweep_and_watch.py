"""The start barrier, sweeps and kopf's events, when the API server does not answer as hoped."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, cast

import kopf
import pytest

from lgos_kube.client import KubeClient
from lgos_kube.errors import ConnectionFailed
from lgos_operator import sweep
from lgos_operator.cluster import Cluster
from lgos_operator.handlers import observed, watcher_registry, watcher_settings
from lgos_operator.metrics import Metrics
from lgos_operator.models import ModelCache
from lgos_operator.program import Operator
from lgos_operator.reconcile import Result
from lgos_operator.settings import Settings
from lgos_operator.sweep import Sweeper
from operator_kit.fake_api import FakeApi
from operator_kit.live_api import eventually
from operator_kit.samples import stored

MODELS = "/apis/lgos.dev/v1alpha1/langgraphmodels"
ONE = "/apis/lgos.dev/v1alpha1/namespaces/team-a/langgraphmodels/one"
KEY = ("team-a", "one")


class LostApi(FakeApi):
    """An API server that cannot be reached the first few times."""

    lost = 0

    async def list(self, path: str, **arguments: Any) -> tuple[list[dict[str, Any]], str]:
        if self.lost:
            self.lost -= 1
            message = "no route"
            raise ConnectionFailed(message)
        return await super().list(path, **arguments)


def parts(api: FakeApi, *, resync_seconds: float = 60) -> tuple[ModelCache, Sweeper]:
    models = ModelCache(lambda _: None)
    cluster = Cluster(cast("KubeClient", api), {})
    return models, Sweeper(cluster, models, resync_seconds=resync_seconds)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses."""
    monkeypatch.setattr(sweep, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(sweep, "GATHER_SECONDS", 0.0)
    monkeypatch.setattr(sweep, "BARRIER_SECONDS", 0.05)


async def test_the_check_waits_for_an_api_server_that_is_away() -> None:
    api = LostApi()
    api.lost = 1
    _, sweeper = parts(api)
    async with asyncio.timeout(5):
        await sweeper.check()
    assert api.lost == 0


async def test_the_barrier_opens_once_every_model_was_shown(quick: None) -> None:  # noqa: ARG001 - only its effect counts
    api = LostApi()
    api.put(ONE, stored("one"))
    models, sweeper = parts(api)
    barrier = asyncio.create_task(sweeper.barrier())
    await eventually(lambda: _value(len(api.calls) >= 2 or None))
    assert not barrier.done(), "the list is read again, and again shows what nobody has seen"
    models.put(stored("one"))
    async with asyncio.timeout(5):
        await barrier


async def test_the_barrier_outlives_a_refused_list() -> None:
    api = FakeApi()
    api.failures["GET", MODELS] = (403, "not yet")
    _, sweeper = parts(api)
    barrier = asyncio.create_task(sweeper.barrier())
    await eventually(lambda: _value(bool(api.calls) or None))
    assert not barrier.done()
    api.failures.clear()
    async with asyncio.timeout(5):
        await barrier


async def test_a_failed_sweep_is_tried_again_and_forgets_nothing_meanwhile(quick: None) -> None:  # noqa: ARG001 - only its effect counts
    api = LostApi()
    models, sweeper = parts(api, resync_seconds=0.01)
    models.put(stored("one"))
    api.put(ONE, stored("one"))
    api.forget(ONE)
    api.lost = 2
    assert await sweeper.sweep() is False
    assert KEY in models
    running = asyncio.create_task(sweeper.run())
    await eventually(lambda: _value(KEY not in models or None))
    running.cancel()


async def test_a_requested_sweep_does_not_wait_for_the_next_turn(quick: None) -> None:  # noqa: ARG001 - only its effect counts
    api = FakeApi()
    _, sweeper = parts(api, resync_seconds=3600)
    running = asyncio.create_task(sweeper.run())
    sweeper.request()
    await eventually(lambda: _value(bool(api.calls) or None))
    running.cancel()


def event(kind: str | None, **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "object": stored("one", metadata=metadata)}


def test_events_of_the_watch_fill_and_empty_the_cache() -> None:
    relisted: list[bool] = []
    models = ModelCache(lambda _: None)
    observed(models, lambda: relisted.append(True), event(None))
    assert relisted == [True]
    observed(models, lambda: relisted.append(True), event("MODIFIED", resourceVersion="2"))
    assert relisted == [True]
    observed(models, relisted.clear, event("DELETED", uid="older", resourceVersion="3"))
    assert KEY in models, "the deletion of a namesake that is gone already"
    observed(models, relisted.clear, event("DELETED", resourceVersion="3"))
    assert KEY not in models


async def test_the_registered_handler_is_the_one_that_fills_the_cache() -> None:
    models = ModelCache(lambda _: None)
    registry = watcher_registry(models, lambda: None)
    [handler] = registry._watching.get_all_handlers()
    await cast("Any", handler.fn)(event=event("ADDED"))
    assert KEY in models


def test_kopf_only_watches() -> None:
    settings = watcher_settings()
    assert settings.posting.enabled is False
    assert settings.scanning.disabled is True
    assert settings.peering.standalone is True
    assert "zalando" not in settings.persistence.finalizer
    assert isinstance(settings, kopf.OperatorSettings)


async def test_one_model_that_breaks_the_reconciler_does_not_stop_the_others() -> None:
    operator = Operator(cast("KubeClient", FakeApi()), Settings(), Metrics())
    operator.models.put(stored("one"))
    operator.models.put(stored("two"))

    class Breaking:
        async def reconcile(self, key: tuple[str, str]) -> Result:
            if key == KEY:
                message = "planted"
                raise RuntimeError(message)
            return Result.NOOP

    operator.reconciler = cast("Any", Breaking())
    operator._open.set()
    working = asyncio.create_task(operator._work())
    sample = operator.metrics.registry.get_sample_value

    def counted() -> bool:
        results = [
            sample("lgos_operator_reconcile_total", {"result": result})
            for result in ("error", "noop")
        ]
        return all(value is not None and value >= 1 for value in results)

    await eventually(lambda: _value(counted() or None))
    assert not working.done()
    working.cancel()


async def test_a_key_that_waits_for_too_long_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator(cast("KubeClient", FakeApi()), Settings(), Metrics())
    operator.queue.add(KEY)
    assert operator.is_alive() == ""
    monkeypatch.setattr("lgos_operator.program.QUEUE_AGE_SECONDS", -1.0)
    assert "has waited" in operator.is_alive()
    assert "waiting until" in operator.is_ready()


async def test_signals_set_the_stop() -> None:
    operator = Operator(cast("KubeClient", FakeApi()), Settings(), Metrics())
    operator.take_signals()
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(5):
        await operator.stop.wait()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().remove_signal_handler(number)


async def _value(value: bool | None) -> bool | None:
    return value
