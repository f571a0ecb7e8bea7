"""A run observer that keeps what it is told, and waiting with a deadline."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from langgraph_openai_serve.ports.observer import (
    LeaseRelease,
    LeaseResult,
    LeaseWrite,
    RenewalResult,
    RunInfo,
    RunStatus,
)

DEADLINE = 2.0
T = TypeVar("T")


class Ledger:
    """Implements `RunObserver`."""

    def __init__(self) -> None:
        self.created: list[RunInfo] = []
        self.first_outputs: list[tuple[RunInfo, float]] = []
        self.ended: list[tuple[RunInfo, RunStatus, float]] = []
        self.endings: asyncio.Queue[RunStatus] = asyncio.Queue()
        self.leases: list[LeaseResult] = []
        self.lease_ends: list[LeaseRelease] = []
        self.refused_writes: list[LeaseWrite] = []

    @property
    def in_progress(self) -> int:
        return len(self.created) - len(self.ended)

    def run_created(self, run: RunInfo) -> None:
        self.created.append(run)

    def first_output(self, run: RunInfo, seconds: float) -> None:
        self.first_outputs.append((run, seconds))

    def run_ended(self, run: RunInfo, status: RunStatus, seconds: float) -> None:
        self.ended.append((run, status, seconds))
        self.endings.put_nowait(status)

    def lease_settled(self, _model: str, result: LeaseResult) -> None:
        self.leases.append(result)

    def lease_ended(self, _model: str, release: LeaseRelease, _seconds: float) -> None:
        self.lease_ends.append(release)

    def lease_write_refused(self, _model: str, write: LeaseWrite) -> None:
        self.refused_writes.append(write)


async def within(queue: asyncio.Queue[T], seconds: float = DEADLINE) -> T:
    """Return the next entry of a queue, or fail."""
    async with asyncio.timeout(seconds):
        return await queue.get()


async def eventually(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Wait until a condition holds that no event announces, or fail."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)


async def becomes(
    probe: Callable[[], Awaitable[bool]], seconds: float = DEADLINE, step: float = 0.02
) -> None:
    """Ask until the answer is yes, or fail."""
    async with asyncio.timeout(seconds):
        while not await probe():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(step)


class LeaseLedger:
    """Implements `LeaseObserver`."""

    def __init__(self) -> None:
        self.renewed: Counter[RenewalResult] = Counter()
        self.delays: list[float] = []
        self.expired: list[str] = []

    def leases_renewed(self, result: RenewalResult, leases: int) -> None:
        self.renewed[result] += leases

    def renewal_delayed(self, seconds: float) -> None:
        self.delays.append(seconds)

    def lease_expired(self, model: str) -> None:
        self.expired.append(model)
