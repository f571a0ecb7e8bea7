"""The metadata list of all LanggraphModels: start barrier, and finder of deletions that no watch reported.

The watcher shows each object, but neither says when it has shown all of them nor what was deleted while its watch was
down. A list does. It is read at the start until the watcher has shown all of it, after each interrupted watch, and
every few minutes; in steady state nothing else is read.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from lgos_kube.errors import ConnectionFailed, KubeError, NotFound
from lgos_operator.cluster import Cluster
from lgos_operator.models import ModelCache

logger = logging.getLogger(__name__)

GATHER_SECONDS: Final = 0.5
"""Several watches are interrupted together, and a list shows many objects: one sweep is for all of them."""
RETRY_SECONDS: Final = 5.0
BARRIER_SECONDS: Final = 2.0
"""Age at which the barrier's list is read again: what it shows may have been deleted since."""
POLL_SECONDS: Final = 0.02


class CrdMissingError(Exception):
    """The API server does not know LanggraphModels."""


class Sweeper:
    """Compares the models that are known with those that exist.

    Args:
        cluster: Where the list is read.
        models: What the watcher has shown.
        resync_seconds: Time between two lists without a reason.
    """

    def __init__(self, cluster: Cluster, models: ModelCache, *, resync_seconds: float) -> None:
        self._cluster = cluster
        self._models = models
        self._resync_seconds = resync_seconds
        self._requested = asyncio.Event()

    def request(self) -> None:
        """Ask for a list: a watch was interrupted."""
        self._requested.set()

    async def check(self) -> None:
        """Wait until the API server answers, and make sure that it knows LanggraphModels.

        Raises:
            CrdMissingError: It does not.
            Forbidden: We may not list them.
        """
        while True:
            try:
                await self._cluster.list_models()
            except NotFound as error:
                msg = "the CRD langgraphmodels.lgos.dev is not installed: apply crds/ or install the chart with crds.enabled"
                raise CrdMissingError(msg) from error
            except ConnectionFailed as error:
                logger.warning("no answer from the API server (%s); trying again", error)
                await asyncio.sleep(1)
            else:
                return

    async def barrier(self) -> None:
        """Wait until the watcher has shown every LanggraphModel that exists."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                uids, _ = await self._cluster.list_models()
            except KubeError as error:
                logger.warning("cannot list the LanggraphModels: %s; trying again", error)
                await asyncio.sleep(1)
                continue
            end = loop.time() + BARRIER_SECONDS
            while loop.time() < end:
                if self._models.shows(uids.values()):
                    return
                await asyncio.sleep(POLL_SECONDS)

    async def run(self) -> None:
        """Sweep when asked to, and now and then, until cancelled."""
        wait = self._resync_seconds
        while True:
            try:
                async with asyncio.timeout(wait):
                    await self._requested.wait()
                await asyncio.sleep(GATHER_SECONDS)
            except TimeoutError:
                logger.debug("time for a sweep")
            self._requested.clear()
            wait = self._resync_seconds if await self.sweep() else RETRY_SECONDS

    async def sweep(self) -> bool:
        """Forget the models that a list does not show; return whether there was a list."""
        try:
            uids, version = await self._cluster.list_models()
        except KubeError as error:
            logger.warning("cannot list the LanggraphModels: %s; trying again", error)
            return False
        self._models.sweep(uids, version)
        return True
