"""What every `RunCoordinator` has to do, as checks that a test of yours can run.

    @pytest.mark.parametrize("check", COORDINATOR_CHECKS)
    async def test_my_coordinator(check, coordinator):
        await check(coordinator)

Each check takes a started coordinator and raises `AssertionError` with a sentence. The checks use keys of their own, so one
coordinator can serve all of them.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Awaitable, Callable
from typing import Final

from langgraph_openai_serve.errors import LgosError, RunBusy
from langgraph_openai_serve.ports.coordinator import RunCoordinator, RunKey, run_key

CoordinatorCheck = Callable[[RunCoordinator], Awaitable[None]]
AT_ONCE_SECONDS: Final = 2.0
MANY: Final = 100


async def check_one_lease_a_key(coordinator: RunCoordinator) -> None:
    """A second lease of a key is refused, at once, until the first has ended."""
    key = _key()
    async with coordinator.lease(key) as lease:
        lease.check()
        _expect(lease.key == key, "the lease has the key that was asked for")
        async with asyncio.timeout(AT_ONCE_SECONDS):
            _expect(not await _is_free(coordinator, key), "a second lease is refused")
    _expect(await _is_free(coordinator, key), "the key is free after the lease")


async def check_keys_are_independent(coordinator: RunCoordinator) -> None:
    """Leases of different keys do not touch each other, not even of one operation in two scopes."""
    operation = uuid.uuid4()
    async with coordinator.lease(run_key("a", "m", operation)):
        _expect(
            await _is_free(coordinator, run_key("b", "m", operation)),
            "another scope is another key",
        )
        _expect(
            await _is_free(coordinator, run_key("a", "n", operation)),
            "another model is another key",
        )


async def check_tokens_grow(coordinator: RunCoordinator) -> None:
    """Each lease of a key has a larger token than the one before."""
    key, tokens = _key(), []
    for _ in range(3):
        async with coordinator.lease(key) as lease:
            tokens.append(lease.token)
    _expect(tokens == sorted(set(tokens)), f"tokens grow, and are not {tokens}")


async def check_free_after_a_failure(coordinator: RunCoordinator) -> None:
    """A block that raises frees its key and keeps its exception."""
    key, failure = _key(), ValueError("mine")
    try:
        async with coordinator.lease(key):
            raise failure
    except ValueError as error:
        _expect(error is failure, "the block's own exception comes through")
    _expect(await _is_free(coordinator, key), "the key is free after a failure")


async def check_free_after_a_cancellation(coordinator: RunCoordinator) -> None:
    """A block that is cancelled frees its key and stays cancelled."""
    key, entered = _key(), asyncio.Event()

    async def hold() -> None:
        async with coordinator.lease(key):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await entered.wait()
    task.cancel()
    await asyncio.wait([task])
    _expect(task.cancelled(), "the block stays cancelled")
    _expect(await _is_free(coordinator, key), "the key is free after a cancellation")


async def check_nothing_left_of_cancelled_requests(coordinator: RunCoordinator) -> None:
    """Whoever leaves while a lease is asked for leaves no lease behind."""
    keys = [_key() for _ in range(MANY)]

    async def pass_through(key: RunKey) -> None:
        async with coordinator.lease(key):
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(pass_through(key)) for key in keys]
    for index, task in enumerate(tasks):
        asyncio.get_running_loop().call_later(index % 10 / 1000, task.cancel)
    await asyncio.wait(tasks)
    async with asyncio.timeout(AT_ONCE_SECONDS):
        for key in keys:
            while not await _is_free(coordinator, key):  # noqa: ASYNC110 - a key has no event
                await asyncio.sleep(0.01)


async def check_one_of_many_wins(coordinator: RunCoordinator) -> None:
    """Of many who ask for one key at once exactly one gets it."""
    key, together, let_in = _key(), asyncio.Event(), asyncio.Event()
    entered: list[int] = []

    async def contend(index: int) -> bool:
        try:
            async with coordinator.lease(key):
                entered.append(index)
                let_in.set()
                await together.wait()
        except RunBusy:
            return False
        return True

    tasks = [asyncio.create_task(contend(index)) for index in range(MANY)]
    async with asyncio.timeout(AT_ONCE_SECONDS):
        for ended in itertools.islice(asyncio.as_completed(tasks), MANY - 1):
            _expect(not await ended, "all others are refused at once")
        await let_in.wait()
    _expect(len(entered) == 1, f"exactly one is let in, not {len(entered)}")
    together.set()
    _expect(sum(await asyncio.gather(*tasks)) == 1, "the one that was let in ends well")


async def check_a_lost_lease_ends_its_block(coordinator: RunCoordinator) -> None:
    """A lease that is lost cancels its block and raises `LeaseLost`; the task can go on."""
    try:
        async with coordinator.lease(_key()) as lease:
            asyncio.get_running_loop().call_soon(lease.lose)
            await asyncio.sleep(AT_ONCE_SECONDS)
            _expect(holds=False, sentence="the block is cancelled")
    except LgosError as error:
        _expect(type(error).__name__ == "LeaseLost", f"LeaseLost is raised, not {error!r}")
    await asyncio.sleep(0)  # would raise when the cancellation were still pending


COORDINATOR_CHECKS: Final[tuple[CoordinatorCheck, ...]] = (
    check_one_lease_a_key,
    check_keys_are_independent,
    check_tokens_grow,
    check_free_after_a_failure,
    check_free_after_a_cancellation,
    check_nothing_left_of_cancelled_requests,
    check_one_of_many_wins,
    check_a_lost_lease_ends_its_block,
)
"""All checks."""


def _key() -> RunKey:
    return run_key("conformance", "m", uuid.uuid4())


async def _is_free(coordinator: RunCoordinator, key: RunKey) -> bool:
    try:
        async with coordinator.lease(key):
            return True
    except RunBusy:
        return False


def _expect(holds: bool, sentence: str) -> None:
    if not holds:
        msg = f"a run coordinator has to see to it that {sentence}"
        raise AssertionError(msg)
