"""`lgos operator`: wires the operator together and runs it until a signal comes or a watch cannot go on.

The tasks: kopf watches LanggraphModels, one list+watch a kind follows what we own, workers take keys from the queue,
one writer keeps the registry, one sweeper looks for missed deletions. Nothing is written before everything that exists
is known.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from lgos_contract.manifest import KIND
from lgos_contract.registry import REGISTRY_NAME
from lgos_kube.client import KubeClient
from lgos_kube.config import KubeConfig, load_config
from lgos_kube.errors import KubeError
from lgos_kube.listwatch import ListWatch
from lgos_operator import names
from lgos_operator.apply import Applier
from lgos_operator.cluster import WATCH_PARAMS, Cluster, watch_paths
from lgos_operator.events import Events
from lgos_operator.handlers import watcher
from lgos_operator.health import serve_http
from lgos_operator.metrics import Metrics
from lgos_operator.models import ModelCache
from lgos_operator.podwatch import PodWatch
from lgos_operator.queueing import WorkQueue
from lgos_operator.reconcile import Reconciler
from lgos_operator.registry import RegistryWriter
from lgos_operator.resource import Key, Object
from lgos_operator.settings import Settings, SettingsError, load_settings
from lgos_operator.sweep import CrdMissingError, Sweeper

logger = logging.getLogger(__name__)

WORKERS: Final = 8
WATCH_SILENCE_SECONDS: Final = 180.0
"""The API server sends a bookmark each minute; a watch that is silent for so long is lost."""
QUEUE_AGE_SECONDS: Final = 600.0


class Operator:
    """All parts of the operator, around one connection."""

    def __init__(self, client: KubeClient, settings: Settings, metrics: Metrics) -> None:
        loop = asyncio.get_running_loop()
        self.settings = settings
        self.metrics = metrics
        self.stop = asyncio.Event()
        self._open = asyncio.Event()
        self._watching = asyncio.Event()
        self.queue: WorkQueue[Key] = WorkQueue()
        self.models = ModelCache(self.queue.add)
        watches = {
            (kind, namespace): ListWatch(
                client,
                path,
                params=WATCH_PARAMS,
                changed=self._registry_changed if kind == "ConfigMap" else self._child_changed,
                relisted=self._relisted,
            )
            for (kind, namespace), path in watch_paths(settings.watch_namespaces)
        }
        self.cluster = Cluster(client, watches, settings.watch_namespaces)
        self.registry = RegistryWriter(self.cluster, self.models, self.queue.add)
        self.sweeper = Sweeper(self.cluster, self.models, resync_seconds=settings.resync_seconds)
        events = Events(self.cluster, now=lambda: datetime.now(UTC), clock=loop.time)
        self.reconciler = Reconciler(
            models=self.models,
            cluster=self.cluster,
            registry=self.registry,
            pods=PodWatch(self.cluster, self.queue.add_after, loop.time),
            applier=Applier(self.cluster, settings.model_defaults, metrics, events),
            events=events,
            again=self.queue.add_after,
            now=lambda: datetime.now(UTC),
            clock=loop.time,
        )
        metrics.watch(
            models=self.models,
            queue=lambda: (self.queue.depth, self.queue.oldest_seconds),
            objects=self._counts,
            restarts=self._restarts,
        )

    async def run(self) -> None:
        """Run until a signal or `stop`.

        Raises:
            CrdMissingError: The API server does not know LanggraphModels.
            KubeError: We may not list them.
            Exception: A part of the operator failed, or kopf cannot watch any more.
        """
        if not await self._unless_stopped(self.sweeper.check()):
            return
        # kopf cancels whatever was started after it, so it comes last.
        parts = [asyncio.create_task(self.cluster.run()), asyncio.create_task(self._sweep())]
        parts += [asyncio.create_task(self._write_registry())]
        parts += [asyncio.create_task(self._work()) for _ in range(WORKERS)]
        parts += [asyncio.create_task(self._until_stopped())]
        parts += [asyncio.create_task(self._watch_models())]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
        for part in done:
            part.result()

    def is_alive(self) -> str:
        """Return what only a restart can help; empty when nothing is wrong."""
        now = asyncio.get_running_loop().time()
        for (kind, namespace), watch in self.cluster.watches.items():
            if watch.synced.is_set() and now - watch.last_event > WATCH_SILENCE_SECONDS:
                return f"the watch of {kind} in {namespace or 'all namespaces'} is silent"
        if self.queue.oldest_seconds > QUEUE_AGE_SECONDS:
            return f"a LanggraphModel has waited for more than {QUEUE_AGE_SECONDS:.0f} s"
        return ""

    def is_ready(self) -> str:
        """Return what is missing until the operator works; empty when nothing is."""
        return "" if self._open.is_set() else "waiting until everything that exists is known"

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do `work`, unless a signal comes first; return whether it was done."""
        task = asyncio.create_task(work)
        stopped = asyncio.create_task(self.stop.wait())
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not task.done():
            task.cancel()
            return False
        task.result()
        return True

    async def _watch_models(self) -> None:
        namespaces = self.settings.watch_namespaces
        await watcher(self.models, self._relisted, namespaces, self._watching)

    async def _until_stopped(self) -> None:
        """Take the signals back from kopf, whose own way to stop waits for five seconds."""
        await self._watching.wait()
        self.take_signals()
        await self.stop.wait()

    def take_signals(self) -> None:
        """Let SIGTERM and SIGINT end the operator."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stop.set)

    async def _sweep(self) -> None:
        await self.cluster.synced()
        await self.sweeper.barrier()
        logger.info("%d LanggraphModels are known; reconciling starts", len(self.models))
        self._open.set()
        await self.sweeper.run()

    async def _write_registry(self) -> None:
        await self._open.wait()
        await self.registry.run()

    async def _work(self) -> None:
        """Take keys from the queue and look at them."""
        await self._open.wait()
        while True:
            key = await self.queue.get()
            await self._look(key)
            if key not in self.models:
                self.queue.forget(key)

    async def _look(self, key: Key) -> None:
        loop = asyncio.get_running_loop()
        begin, result = loop.time(), "error"
        try:
            result = await self.reconciler.reconcile(key)
        except KubeError as error:
            logger.warning("%s/%s: %s; trying again", *key, error)
        except Exception:
            # One model must not stop the others; the log, the metric and the queue's retry tell of it.
            logger.exception("%s/%s: reconciling failed; trying again", *key)
        finally:
            self.queue.done(key, failed=result == "error")
            self.metrics.reconciled(result, loop.time() - begin)

    def _child_changed(self, key: Key, old: Object | None, new: Object | None) -> None:
        """Look at the model of an object that changed."""
        if old is new:
            return
        name = ((new or old or {})["metadata"].get("labels") or {}).get(names.MODEL_LABEL)
        owner = (key[0], name or "")
        if owner in self.models or not self._open.is_set():
            self.queue.add(owner)

    def _registry_changed(self, key: Key, old: Object | None, new: Object | None) -> None:
        """Compare a registry ConfigMap that changed."""
        if key[1] == REGISTRY_NAME and old is not new:
            self.registry.touch(key[0])

    def _relisted(self) -> None:
        if self._open.is_set():
            self.sweeper.request()

    def _counts(self) -> dict[str, int]:
        kinds = sorted({kind for kind, _ in self.cluster.watches})
        return {KIND: len(self.models), **{kind: self.cluster.count(kind) for kind in kinds}}

    def _restarts(self) -> dict[str, int]:
        totals: dict[str, int] = {}
        for (kind, _), watch in self.cluster.watches.items():
            totals[kind] = totals.get(kind, 0) + watch.restarts
        return totals


async def operate(config: KubeConfig, settings: Settings) -> None:
    """Run one operator against one API server until a signal comes; see `Operator.run`."""
    metrics = Metrics()
    client = KubeClient(config, user_agent="lgos-operator", observe=metrics.requested)
    async with client:
        operator = Operator(client, settings, metrics)
        operator.take_signals()
        async with serve_http(
            health_port=settings.health_port,
            metrics_port=settings.metrics_port,
            alive=operator.is_alive,
            ready=operator.is_ready,
            metrics=metrics.registry,
        ):
            await operator.run()


def run(environ: Mapping[str, str] = os.environ) -> int:
    """Run the operator until a signal comes.

    Returns:
        0 after a signal.

    Raises:
        SystemExit: With 1, after a sentence on standard error, when the operator cannot start or go on.
    """
    try:
        settings = load_settings(environ)
        _log(settings.log_level)
        asyncio.run(operate(load_config(), settings))
    except (SettingsError, KubeError, CrdMissingError, OSError) as error:
        logger.debug("the operator cannot start or go on", exc_info=True)
        sys.stderr.write(f"lgos operator: {error}\n")
        raise SystemExit(1) from error
    except Exception as error:
        logger.exception("the operator cannot go on")
        raise SystemExit(1) from error
    return 0


def _log(level: str) -> None:
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    if level != "debug":
        # kopf tells of each handler; what matters of it are warnings and errors.
        logging.getLogger("kopf").setLevel(logging.WARNING)
        logging.getLogger("aiohttp").setLevel(logging.WARNING)
