from __future__ import annotations

import asyncio

from lgos_operator.queueing import WorkQueue


def queue() -> WorkQueue[str]:
    return WorkQueue(jitter=lambda: 0.01)


async def test_a_key_waits_once_however_often_it_is_added() -> None:
    work = queue()
    for key in ("a", "b", "a"):
        work.add(key)
    assert work.depth == 2
    assert [await work.get(), await work.get()] == ["a", "b"]


async def test_a_key_added_while_it_is_worked_on_comes_again_afterwards() -> None:
    work = queue()
    work.add("a")
    await work.get()
    work.add("a")
    work.add("a")
    assert work.depth == 1, "no second worker gets it"
    work.done("a")
    assert await work.get() == "a"
    work.done("a")
    assert work.depth == 0


async def test_a_failed_key_comes_back_and_later_each_time() -> None:
    work = queue()
    loop = asyncio.get_running_loop()
    waits = []
    work.add("a")
    for _ in range(3):
        begin = loop.time()
        await asyncio.wait_for(work.get(), 5)
        waits.append(loop.time() - begin)
        work.done("a", failed=True)
    assert waits[0] < waits[1] < waits[2]


async def test_the_earliest_of_several_delays_counts() -> None:
    work = queue()
    work.add_after("a", 60)
    work.add_after("a", 0.01)
    work.add_after("a", 60)
    assert await asyncio.wait_for(work.get(), 5) == "a"


async def test_a_waiting_worker_is_woken() -> None:
    work = queue()
    waiting = asyncio.create_task(work.get())
    await asyncio.sleep(0)
    work.add("a")
    assert await asyncio.wait_for(waiting, 5) == "a"


async def test_a_forgotten_key_does_not_come_back() -> None:
    work = queue()
    work.add("a")
    await work.get()
    work.done("a", failed=True)
    work.forget("a")
    work.forget("a")
    work.add_after("b", 0.03)
    assert await asyncio.wait_for(work.get(), 5) == "b"
    assert work.depth == 1


async def test_the_age_is_that_of_the_first_in_the_queue() -> None:
    work = queue()
    assert work.oldest_seconds == 0.0
    work.add("a")
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, passed.set)
    await passed.wait()
    assert work.oldest_seconds >= 0.009
