"""`lgos sweep`: deletes the threads of paused runs that nobody answered in time.

A run is taken like by a request: under its lease, where its age is looked at again, so that an answer that comes at the same
moment wins or loses as a whole. Rows of leases that expired long ago go with it. One line of JSON says what was done.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from langgraph_openai_serve.deploy.imports import described
from langgraph_openai_serve.deploy.process import log_to_stderr, report_failure
from langgraph_openai_serve.deploy.settings import log_level, termination_log
from langgraph_openai_serve.errors import ConfigurationError, CoordinatorUnavailable, RunBusy
from langgraph_openai_serve.integrations.postgres import PausedRun, PausedRuns, open_platform
from langgraph_openai_serve.integrations.postgres.platform import PostgresPlatform
from langgraph_openai_serve.ports.coordinator import RunKey, RunLease, current_lease
from lgos_contract.environment import ENV_POSTGRES_DSN

logger = logging.getLogger(__name__)

PROGRAM: Final = "lgos sweep"
BATCH: Final = 500
DRY_RUN_LIMIT: Final = 100_000


@dataclass(slots=True)
class Swept:
    """What became of the abandoned runs."""

    deleted: Counter[str] = field(default_factory=Counter)
    """By model; in a dry run, what would be deleted."""
    busy: int = 0
    """Somebody works on them at the moment."""
    answered: int = 0
    """Ended or went on since they were found."""
    failed: int = 0
    forgotten_leases: int = 0

    def line(self, *, dry_run: bool, seconds: float) -> str:
        """Return the report."""
        return json.dumps({
            "event": "sweep",
            "dry_run": dry_run,
            "deleted": sum(self.deleted.values()),
            "models": dict(sorted(self.deleted.items())),
            "busy": self.busy,
            "answered": self.answered,
            "failed": self.failed,
            "forgotten_leases": self.forgotten_leases,
            "seconds": round(seconds, 3),
        })  # fmt: skip


def sweep(
    retention: timedelta, *, dry_run: bool = False, environ: Mapping[str, str] = os.environ
) -> int:
    """Delete abandoned runs and print what was done.

    Args:
        retention: How long runs are kept whose model names no time.
        dry_run: Only count them.
        environ: Where the database's connection string is.

    Returns:
        0; or 1 when a run could not be deleted or the database cannot be used, after a sentence that says why.
    """
    started = time.monotonic()
    try:
        log_to_stderr(log_level(environ))
        swept = asyncio.run(_sweep(_dsn(environ), retention, dry_run=dry_run))
    except ConfigurationError as error:
        logger.debug("the sweep cannot start", exc_info=True)
        report_failure(PROGRAM, error.message, termination_log(environ))
        return 1
    except Exception as error:
        logger.debug("the sweep cannot go on", exc_info=True)
        sentence = f"the database failed meanwhile: {described(error)}; run it again"
        report_failure(PROGRAM, sentence, termination_log(environ))
        return 1
    sys.stdout.write(swept.line(dry_run=dry_run, seconds=time.monotonic() - started) + "\n")
    return 1 if swept.failed else 0


async def sweep_runs(
    platform: PostgresPlatform, retention: timedelta, *, batch: int = BATCH
) -> Swept:
    """Delete abandoned runs, the oldest first.

    Args:
        platform: Where they are.
        retention: How long runs are kept whose model names no time.
        batch: How many are looked up at once.
    """
    swept, left = Swept(), set[str]()
    while found := await platform.paused.expired(retention, limit=len(left) + batch):
        fresh = [run for run in found if run.thread_id not in left]
        if not fresh:
            break
        for run in fresh:
            if not await _delete(platform, run, retention, swept):
                left.add(run.thread_id)
    swept.forgotten_leases = await platform.paused.forget_expired_leases()
    return swept


def _dsn(environ: Mapping[str, str]) -> str:
    dsn = environ.get(ENV_POSTGRES_DSN)
    if not dsn:
        msg = f"{ENV_POSTGRES_DSN} is not set; it is the connection string of the models' database"
        raise ConfigurationError(msg)
    return dsn


async def _sweep(dsn: str, retention: timedelta, *, dry_run: bool) -> Swept:
    async with open_platform(dsn) as platform:
        if dry_run:
            return await _counted(platform.paused, retention)
        return await sweep_runs(platform, retention)


async def _counted(paused: PausedRuns, retention: timedelta) -> Swept:
    found = await paused.expired(retention, limit=DRY_RUN_LIMIT)
    return Swept(deleted=Counter(run.model for run in found))


async def _delete(
    platform: PostgresPlatform, run: PausedRun, retention: timedelta, swept: Swept
) -> bool:
    """Delete one run, and return whether it is gone."""
    try:
        async with platform.coordinator.lease(RunKey(run.thread_id, run.model)) as lease:
            gone = await _delete_held(platform, run, retention, lease)
    except RunBusy:
        swept.busy += 1
        return False
    except CoordinatorUnavailable:
        raise
    except Exception:
        swept.failed += 1
        logger.exception("a run cannot be deleted: model=%s", run.model)
        return False
    if gone:
        swept.deleted[run.model] += 1
    else:
        swept.answered += 1
    return gone


async def _delete_held(
    platform: PostgresPlatform, run: PausedRun, retention: timedelta, lease: RunLease
) -> bool:
    context = current_lease.set(lease)
    try:
        now = await platform.paused.find(run.thread_id)
        if now is None or not now.expired(retention):
            return False
        await platform.checkpointer.adelete_thread(run.thread_id)
    finally:
        current_lease.reset(context)
    return True
