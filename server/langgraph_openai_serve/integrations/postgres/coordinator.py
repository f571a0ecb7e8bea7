"""`PostgresRunCoordinator`: run leases as rows, on one connection for a whole process.

Whoever waits for a lease or gives one back is served by one task, which puts all that is waiting into one statement and
renews all leases with another: a thousand leases cost one connection and three statements a ttl. A lease survives the loss
of its connection and a restart of the database. One that cannot be renewed in time cancels its run before the row expires.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Final, Self

from langgraph_openai_serve.errors import CoordinatorUnavailable, LeaseLost, RunBusy
from langgraph_openai_serve.integrations.postgres.connections import Pool, pool_of
from langgraph_openai_serve.integrations.postgres.lease_table import (
    CALL_SECONDS,
    FAILURES,
    Granted,
    LeaseTable,
)
from langgraph_openai_serve.ports.coordinator import RunKey, RunLease
from langgraph_openai_serve.ports.observer import LeaseObserver, RenewalResult, SilentObserver

logger = logging.getLogger(__name__)

DEFAULT_TTL: Final = timedelta(seconds=60)
ANSWER_SECONDS: Final = CALL_SECONDS + 1
"""How long somebody waits for a lease; a database that hangs may keep a statement for longer."""
RELEASE_SECONDS: Final = 1.0
"""How long the end of a run waits for its lease to be given back."""

_Answer = asyncio.Future[Granted | None]


@dataclass(frozen=True, slots=True)
class _Release:
    """A row to give back."""

    key: str
    token: int
    done: asyncio.Future[None]


class PostgresRunCoordinator:
    """Implements `RunCoordinator`; starts with its first lease, or as an asynchronous context.

    Args:
        pool_or_dsn: A connection string, or an open pool whose connections commit by themselves. It must not be the pool
            of the checkpoints: renewals would wait behind them.
        ttl: How long a lease lives without a renewal, and so how long a crashed process's runs stay locked.
        observer: Told about renewals and take-overs.
    """

    def __init__(
        self,
        pool_or_dsn: Pool | str,
        *,
        ttl: timedelta = DEFAULT_TTL,
        observer: LeaseObserver | None = None,
    ) -> None:
        self._own_pool: Pool | None = None
        if isinstance(pool_or_dsn, str):
            pool_or_dsn = self._own_pool = pool_of(
                pool_or_dsn, name="lgos-leases", min_size=0, max_size=1, timeout=CALL_SECONDS
            )
        self._table = LeaseTable(pool_or_dsn, ttl)
        self._pause = ttl.total_seconds() / 3
        self._observer: LeaseObserver = observer or SilentObserver()
        self._keys: set[str] = set()
        """Of rows that this process has, wants or gives back."""
        self._held: dict[str, RunLease] = {}
        self._wanted: list[tuple[RunKey, _Answer]] = []
        self._released: list[_Release] = []
        self._wake = asyncio.Event()
        self._starting = asyncio.Lock()
        self._worker: asyncio.Task[None] | None = None
        self._renewed_at = 0.0
        self._renew_at = 0.0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Connect and make the table; several processes may do so at once.

        Raises:
            CoordinatorUnavailable: The database cannot be reached, or the table cannot be made.
        """
        async with self._starting:
            if self._worker is not None:
                return
            try:
                if self._own_pool is not None and self._own_pool.closed:
                    await self._own_pool.open()
                await self._table.set_up()
            except FAILURES as error:
                raise _unavailable(error) from error
            self._worker = asyncio.create_task(self._work(), name="lgos-leases")

    async def close(self) -> None:
        """End all leases: their runs are cancelled, and their keys are free."""
        for lease in tuple(self._held.values()):
            lease.lose()
        worker, self._worker = self._worker, None
        if worker is None:
            return
        worker.cancel()
        await asyncio.wait([worker])
        self._refuse(self._wanted, CoordinatorUnavailable("the coordinator is closed"))
        self._wanted = []
        try:
            await self._table.release_all()
        except FAILURES:
            logger.warning("leases are left to expire", exc_info=True)
        self._settle(self._released)
        self._released = []
        if self._own_pool is not None:
            await self._own_pool.close()

    @asynccontextmanager
    async def lease(self, key: RunKey) -> AsyncGenerator[RunLease, None]:
        """Hold the lease of `key`.

        Raises:
            RunBusy: Another run holds it.
            CoordinatorUnavailable: The database cannot be reached.
            LeaseLost: The lease was lost meanwhile, and nothing else ended the block.
        """
        granted = await self._acquire(key)
        lease = RunLease(key, granted.token, deadline=granted.deadline)
        deadline = _Deadline(lease)
        self._held[key.digest] = lease
        try:
            yield lease
        except asyncio.CancelledError:
            if lease.absorb_cancellation():
                raise LeaseLost(key.digest) from None
            raise
        finally:
            deadline.stop()
            lease.absorb_cancellation()
            self._held.pop(key.digest, None)
            await self._given_back(self._release(key.digest, granted.token), lost=lease.lost)
        if lease.lost:
            raise LeaseLost(key.digest)

    async def _acquire(self, key: RunKey) -> Granted:
        if key.digest in self._keys:
            raise RunBusy
        if self._worker is None:
            await self.start()
            if key.digest in self._keys:
                raise RunBusy
        self._keys.add(key.digest)
        answer: _Answer = asyncio.get_running_loop().create_future()
        self._wanted.append((key, answer))
        self._wake.set()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                granted = await asyncio.shield(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(partial(self._unwanted, key))
            raise
        except TimeoutError as error:
            answer.add_done_callback(partial(self._unwanted, key))
            raise _unavailable(error) from error
        except CoordinatorUnavailable:
            self._keys.discard(key.digest)
            raise
        if granted is None:
            self._keys.discard(key.digest)
            raise RunBusy
        if granted.taken_over:
            self._observer.lease_expired(key.model)
        return granted

    def _unwanted(self, key: RunKey, answer: _Answer) -> None:
        """Give back what was granted to somebody who had left."""
        granted = None if answer.exception() is not None else answer.result()
        if granted is None:
            self._keys.discard(key.digest)
        else:
            self._release(granted.key, granted.token)

    def _release(self, key: str, token: int) -> asyncio.Future[None]:
        """Give a row back; the future is done when it is, and never fails."""
        release = _Release(key, token, asyncio.get_running_loop().create_future())
        self._released.append(release)
        if self._worker is None:  # closing has freed all rows
            self._settle([release])
            self._released.remove(release)
        self._wake.set()
        return release.done

    async def _given_back(self, release: asyncio.Future[None], *, lost: bool) -> None:
        """Wait until a key is free for others, but not for a database that is away."""
        if not lost:
            await asyncio.wait([release], timeout=RELEASE_SECONDS)

    async def _work(self) -> None:
        self._renewed_at = time.monotonic()
        self._renew_at = self._renewed_at + self._pause
        while True:
            await self._until_due()
            released, self._released = self._released, []
            wanted, self._wanted = self._wanted, []
            try:
                if released:
                    await self._give_back(released)
                if wanted:
                    await self._ask(wanted)
            except asyncio.CancelledError:
                self._released += [release for release in released if not release.done.done()]
                self._wanted += [waiting for waiting in wanted if not waiting[1].done()]
                raise
            if time.monotonic() >= self._renew_at:
                await self._renew()

    async def _until_due(self) -> None:
        """Wait for work, or for the time of the next renewal."""
        try:
            async with asyncio.timeout(max(0.0, self._renew_at - time.monotonic())):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    async def _ask(self, wanted: list[tuple[RunKey, _Answer]]) -> None:
        try:
            granted = await self._table.acquire([key for key, _ in wanted])
        except FAILURES as error:
            self._refuse(wanted, _unavailable(error))
            return
        for key, answer in wanted:
            answer.set_result(granted.get(key.digest))

    async def _give_back(self, released: list[_Release]) -> None:
        try:
            await self._table.release([(release.key, release.token) for release in released])
        except FAILURES as error:
            # The rows stay this process's own, which may take them again; for others they expire.
            logger.warning("%d leases are left to expire: %r", len(released), error)
        self._settle(released)

    async def _renew(self) -> None:
        now = time.monotonic()
        if not self._held:
            self._renewed_at, self._renew_at = now, now + self._pause
            return
        before = dict(self._held)
        try:
            renewal = await self._table.renew()
        except FAILURES as error:
            logger.warning("%d leases cannot be renewed: %r", len(before), error)
            self._observer.leases_renewed(RenewalResult.ERROR, len(before))
            self._renew_at = time.monotonic() + self._pause / 4
            return
        self._observer.renewal_delayed(time.monotonic() - self._renewed_at)
        self._renewed_at, self._renew_at = now, now + self._pause
        lost = []
        for lease in before.values():
            row = (lease.key.digest, lease.token)
            if row in renewal.renewed:
                lease.deadline = renewal.deadline
            elif row not in renewal.skipped and self._held.get(lease.key.digest) is lease:
                lost.append(lease)
        self._observer.leases_renewed(RenewalResult.OK, len(before) - len(lost))
        self._observer.leases_renewed(RenewalResult.LOST, len(lost))
        for lease in lost:
            logger.error("a run lease was lost: model=%s", lease.key.model)
            lease.lose()

    def _refuse(self, wanted: list[tuple[RunKey, _Answer]], error: CoordinatorUnavailable) -> None:
        for _, answer in wanted:
            answer.set_exception(error)
            answer.exception()  # somebody who left does not look at it

    def _settle(self, released: list[_Release]) -> None:
        for release in released:
            self._keys.discard(release.key)
            if not release.done.done():
                release.done.set_result(None)


class _Deadline:
    """Loses a lease that nobody renewed in time."""

    __slots__ = ("_lease", "_timer")

    def __init__(self, lease: RunLease) -> None:
        self._lease = lease
        self._timer = self._set()

    def stop(self) -> None:
        self._timer.cancel()

    def _set(self) -> asyncio.TimerHandle:
        left = max(0.0, self._lease.deadline - time.monotonic())
        return asyncio.get_running_loop().call_later(left, self._passed)

    def _passed(self) -> None:
        if time.monotonic() < self._lease.deadline:
            self._timer = self._set()
            return
        logger.error("a run lease was not renewed in time: model=%s", self._lease.key.model)
        self._lease.lose()


def _unavailable(error: Exception) -> CoordinatorUnavailable:
    logger.error("run leases cannot be reached: %r", error)
    return CoordinatorUnavailable(f"{type(error).__name__} at the run leases")
