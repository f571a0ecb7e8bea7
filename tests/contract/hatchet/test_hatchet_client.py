"""Background Responses on a real Hatchet engine, through the SDK, with a worker in a process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from openai import AsyncOpenAI

from support.backgrounds import MISSING, create, finished, refused
from support.hatchet_worker import SECRET
from support.observing import becomes
from support.pausing import SCOPE_HEADER, answers, calls

ALICE, BOB = {SCOPE_HEADER: "alice"}, {SCOPE_HEADER: "bob"}


@pytest.fixture
async def client(platform: Any) -> AsyncIterator[AsyncOpenAI]:
    with platform.worker():
        await platform.active()
        async with platform.api() as made:
            yield made


async def started(platform: Any, label: str, times: int = 1) -> None:
    async def has() -> bool:
        return platform.log().count(f"started {label}") >= times

    await becomes(has, 30, step=0.05)


async def test_everything_that_callers_rely_on(platform: Any, client: AsyncOpenAI) -> None:
    """One worker's start for all of it."""
    # Create, poll, completed; the same from another API process, for ever.
    accepted = await create(client, "bg_work", "0.2 first", store=True)
    assert accepted.status in {"queued", "in_progress"}
    assert accepted.background is True
    response = await finished(client, accepted.id)
    assert (response.status, response.output_text) == ("completed", "ok")
    assert (response.id, response.created_at) == (accepted.id, accepted.created_at)
    async with platform.api() as other:
        assert await other.responses.retrieve(accepted.id) == response
        assert await other.responses.cancel(accepted.id) == response

    # A failure keeps its reason to itself.
    failed = await finished(client, (await create(client, "bg_fails")).id)
    assert failed.status == "failed"
    assert failed.error is not None
    assert SECRET not in failed.model_dump_json()

    # One key is one run, over two API processes at once; its key is the owner's own.
    key = {"Idempotency-Key": str(uuid4())}
    async with platform.api() as other:
        both = [client, other]
        replies = await asyncio.gather(
            *[
                create(both[index % 2], "bg_work", "1 keyed", extra_headers=key)
                for index in range(50)
            ]
        )
    assert len({one.id for one in replies}) == 1
    assert (await finished(client, replies[0].id)).status == "completed"
    assert platform.log().count("started keyed") == 1
    again = await create(client, "bg_work", "1 keyed", extra_headers=key)
    assert (again.id, again.status) == (replies[0].id, "completed")
    conflict = await refused(422, create(client, "bg_work", "2", extra_headers=key))
    assert conflict["code"] == "idempotency_key_reused"
    mine = await create(client, "bg_work", "0", extra_headers={**key, **ALICE})
    assert mine.id != replies[0].id

    # Only the owner; unknown ids are answered at once.
    await refused(404, client.responses.retrieve(mine.id, extra_headers=BOB))
    await refused(404, client.responses.cancel(mine.id, extra_headers=BOB))
    asked = time.monotonic()
    await refused(404, client.responses.retrieve(MISSING))
    assert time.monotonic() - asked < 1

    # A running one is cancelled, and stays so.
    running = await create(client, "bg_work", "60 cancelled")
    await started(platform, "cancelled")
    assert (await client.responses.cancel(running.id)).status == "cancelled"
    assert (await client.responses.retrieve(running.id)).status == "cancelled"
    assert "ended cancelled" not in platform.log()

    # What is too large for a message fails at once, or ends as failed.
    large = await finished(client, (await create(client, "bg_large")).id)
    assert large.status == "failed"
    assert large.error is not None
    assert "larger than the background engine takes" in large.error.message
    before = time.monotonic()
    await refused(413, create(client, "bg_work", "0 " + "a" * 6 * 1024 * 1024))
    assert time.monotonic() - before < 5


async def test_pauses_are_answered_in_either_mode(platform: Any, client: AsyncOpenAI) -> None:
    paused = await finished(client, (await create(client, "bg_ask")).id)
    assert len(calls(paused)) == 1

    racing = [
        await create(client, "bg_ask", answers(paused, text), previous_response_id=paused.id)
        for text in ("0.5", "0.6")
    ]

    ended = [await finished(client, one.id, 60) for one in racing]
    assert sorted(str(one.status) for one in ended) == ["completed", "failed"]
    [lost] = [one for one in ended if one.status == "failed"]
    assert lost.error is not None
    assert "do not match what the run is waiting for" in lost.error.message
    assert len([line for line in platform.log() if line.startswith("answered")]) == 1


async def test_runs_that_no_worker_takes_are_cancelled_or_say_why(platform: Any) -> None:
    with platform.worker(TEST_SCHEDULE_SECONDS="4") as worker:
        await platform.active()
        worker.process.terminate()
        worker.exit_code()
    async with platform.api() as client:
        queued = await create(client, "bg_work", "0 never")
        left = await create(client, "bg_work", "0 left")
        assert (await client.responses.retrieve(queued.id)).status == "queued"

        cancelled = await client.responses.cancel(queued.id)

        assert cancelled.status == "cancelled"
        assert cancelled.error is None
        ended = await finished(client, left.id)
        assert ended.status == "cancelled"
        assert ended.error is not None
        assert "no worker took it" in ended.error.message
    assert platform.log() == []


async def test_run_that_takes_too_long_says_so(platform: Any) -> None:
    with platform.worker(TEST_EXECUTION_SECONDS="1"):
        await platform.active()
        async with platform.api() as client:
            response = await finished(client, (await create(client, "bg_work", "30 long")).id)

    assert response.status == "cancelled"
    assert response.error is not None
    assert "execution timeout" in response.error.message


async def test_task_that_no_worker_ever_registered_is_a_clear_503(platform: Any) -> None:
    async with platform.api(task=f"{platform.task}-unknown") as client:
        error = await refused(503, create(client, "bg_work", "0"))

    assert "No worker for this model has ever reached" in error["message"]
