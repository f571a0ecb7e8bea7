from __future__ import annotations

import asyncio

import pytest

from langgraph_openai_serve.web.requests import OpenRequests


async def request(requests: OpenRequests, until: asyncio.Event, entered: asyncio.Event) -> None:
    task = requests.enter()
    entered.set()
    try:
        await until.wait()
    finally:
        requests.leave(task)


async def test_request_that_ends_within_the_drain_time_is_waited_for() -> None:
    requests, until, entered = OpenRequests(), asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(request(requests, until, entered))
    await entered.wait()
    asyncio.get_running_loop().call_later(0.01, until.set)

    assert await requests.drain(5) is True
    await task


async def test_idle_server_drains_at_once() -> None:
    requests = OpenRequests()

    assert await requests.drain(0) is True
    assert requests.draining


async def test_drain_waits_for_open_requests() -> None:
    requests, until, entered = OpenRequests(), asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(request(requests, until, entered))
    await entered.wait()
    drained = asyncio.create_task(requests.drain(5))
    until.set()

    assert await drained is True
    assert len(requests) == 0
    await task


async def test_requests_that_outlive_the_drain_are_cancelled() -> None:
    requests, entered = OpenRequests(), asyncio.Event()
    task = asyncio.create_task(request(requests, asyncio.Event(), entered))
    await entered.wait()

    assert await requests.drain(0.01) is False
    assert len(requests) == 0
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_request_that_does_not_let_go_does_not_hold_the_drain() -> None:
    requests, until, entered = OpenRequests(), asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        task = requests.enter()
        entered.set()
        while not until.is_set():
            try:
                await until.wait()
            except asyncio.CancelledError:
                continue
        requests.leave(task)

    task = asyncio.create_task(stubborn())
    await entered.wait()

    assert await requests.drain(0.01, grace_seconds=0.01) is False
    assert len(requests) == 1
    until.set()
    await task


async def test_request_needs_a_task() -> None:
    outcome: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

    def outside_of_tasks() -> None:
        try:
            OpenRequests().enter()
        except RuntimeError as error:
            outcome.set_result(error)

    asyncio.get_running_loop().call_soon(outside_of_tasks)

    assert str(await outcome) == "a request needs a task"
