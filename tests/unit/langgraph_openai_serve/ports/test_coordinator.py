from __future__ import annotations

import asyncio
import time
from uuid import UUID

import pytest

from langgraph_openai_serve.errors import LeaseLost, RunBusy
from langgraph_openai_serve.ports.coordinator import (
    InMemoryRunCoordinator,
    RunKey,
    RunLease,
    run_key,
)

OPERATION = UUID("6f719db6-1be2-4b8e-875c-c775f0f6c86a")
PINNED = "b65eb5fcbd5bd5296b3eadbb83883704deca25cf7eb5b51613dc589900406c18"
PINNED_EMPTY = "b38cf64d05d3f6166e301f4c663f81f44e322e28e04705842806d0cb0288c22d"
PINNED_WIDE = "118a384a50080fb24a27899fee64678740798e1f7ab253b9eb0a9fb07cacdc45"
MANY = 100_000


def test_digests_are_pinned() -> None:
    # A change would let an old and a new process work on one operation during a rolling update.
    assert run_key("shared", "refund", OPERATION).digest == PINNED
    assert run_key("", "", UUID(int=1)).digest == PINNED_EMPTY
    assert run_key("mandant-ü", "modèle/x", UUID(int=2**128 - 1)).digest == PINNED_WIDE


def test_scopes_models_and_operations_never_share_a_key() -> None:
    digests = {
        run_key(scope, "m", UUID(int=number)).digest
        for scope in ("a", "b")
        for number in range(1, MANY + 1)
    }
    digests |= {run_key("a", "mm", UUID(int=1)).digest, run_key("am", "m", UUID(int=1)).digest}

    assert len(digests) == 2 * MANY + 2
    assert {len(digest) for digest in digests} == {64}


async def test_second_lease_of_a_key_is_refused_until_the_first_is_free() -> None:
    coordinator = InMemoryRunCoordinator()
    key, other = RunKey("k", "m"), RunKey("o", "m")

    async with coordinator.lease(key) as first:
        with pytest.raises(RunBusy):
            async with coordinator.lease(key):
                pass
        async with coordinator.lease(other):
            first.check()
    async with coordinator.lease(key) as second:
        assert second.token > first.token


async def test_key_is_free_after_a_failure_and_after_a_cancellation() -> None:
    coordinator = InMemoryRunCoordinator()
    key = RunKey("k", "m")

    with pytest.raises(ZeroDivisionError):
        async with coordinator.lease(key):
            raise ZeroDivisionError
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), coordinator.lease(key):
            await asyncio.sleep(60)
    async with coordinator.lease(key) as lease:
        lease.check()


async def test_lost_lease_cancels_its_holder_once() -> None:
    lease = RunLease(RunKey("k", "m"), 1)
    lease.lose()
    lease.lose()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(60)
    assert lease.absorb_cancellation()
    assert not lease.absorb_cancellation()
    with pytest.raises(LeaseLost):
        lease.check()


async def test_cancellation_by_others_outlives_the_loss() -> None:
    async def hold(leases: list[RunLease]) -> bool:
        lease = RunLease(RunKey("k", "m"), 1)
        leases.append(lease)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return lease.absorb_cancellation()
        return True

    leases: list[RunLease] = []
    task = asyncio.create_task(hold(leases))
    await asyncio.sleep(0)
    leases[0].lose()
    task.cancel()

    assert await task is False


async def test_deadline_ends_the_lease_without_an_event() -> None:
    lease = RunLease(RunKey("k", "m"), 1, deadline=time.monotonic())

    with pytest.raises(LeaseLost):
        lease.check()
    assert not lease.lost
