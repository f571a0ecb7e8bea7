"""What happens to processes, connections and the database while runs are paused or at work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import openai
import pytest
from openai.types.responses import Response

from support.observing import becomes
from support.pausing import answers, calls
from support.replicas import TTL_SECONDS, Deployment, Replica
from tools.postgres import PostgresServer


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    name = f"faults{uuid4().hex[:12]}"
    postgres.create_database(name)
    return name


@pytest.fixture
def deployment(tmp_path: Path, postgres: PostgresServer, database: str) -> Deployment:
    return Deployment(tmp_path, postgres.dsn(database))


async def ask(replica: Replica, text: str = "ask", **fields: Any) -> Response:
    return await replica.client.responses.create(model="work", input=text, **fields)


async def resume(replica: Replica, paused: Response, text: str = "0") -> Response:
    return await replica.client.responses.create(
        model="work", previous_response_id=paused.id, input=answers(paused, text)
    )


async def outcome(answer: Any) -> tuple[int, str | None]:
    """Return the status and the code of the error that a request ended with; 200 for none."""
    try:
        await answer
    except openai.APIStatusError as error:
        body: Any = error.body
        return error.status_code, body["code"]
    return 200, None


async def working(deployment: Deployment, text: str) -> None:
    async def begun() -> bool:
        return f"worked {text}" in deployment.log()

    await becomes(begun, 10)


def count(postgres: PostgresServer, database: str, table: str) -> int:
    [(rows,)] = postgres.execute(f"SELECT count(*) FROM {table}", database)  # noqa: S608 - a constant
    assert isinstance(rows, int)
    return rows


async def test_pause_outlives_its_process(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    async with deployment.replica() as first, deployment.replica() as second:
        paused = await ask(first)
        first.program.process.kill()
        first.program.process.wait()

        finished = await resume(second, paused)

        assert finished.output_text == "worked for 0"
        assert deployment.log() == ["prepared", "worked 0"]
        assert count(postgres, database, "checkpoints") == 0


async def test_of_fifty_answers_at_two_processes_exactly_one_wins(deployment: Deployment) -> None:
    async with deployment.replica() as first, deployment.replica() as second:
        paused = await ask(first)

        ended = await asyncio.gather(
            *[outcome(resume([first, second][index % 2], paused, "0.2")) for index in range(50)]
        )

        assert [status for status, _ in ended].count(200) == 1
        assert {code for status, code in ended if status != 200} <= {
            "run_busy",
            "interrupt_state_conflict",
        }
        assert [status for status, _ in ended].count(409) == 49
        assert deployment.log() == ["prepared", "worked 0.2"]


async def test_lost_connections_of_leases_and_checkpoints_do_not_end_a_run(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    chosen = {"lgos_run_id": str(uuid4())}
    async with deployment.replica() as first, deployment.replica() as second:
        running = asyncio.create_task(ask(first, "4", metadata=chosen))
        await working(deployment, "4")
        for _ in range(3):
            postgres.terminate_backends("lgos-leases", database)
            postgres.terminate_backends("lgos-checkpoints", database)
            assert await outcome(ask(second, "4", metadata=chosen)) == (409, "run_busy")
            await asyncio.sleep(0.8)

        assert (await running).output_text == "worked for 4"
        assert deployment.log() == ["prepared", "worked 4"]
        assert first.metric("lgos_lease_renewals_total") > 0


async def test_restart_of_the_database_does_not_end_a_run(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    async with deployment.replica() as replica:
        paused = await ask(replica)
        running = asyncio.create_task(resume(replica, paused, "3"))
        await working(deployment, "3")
        await asyncio.to_thread(postgres.restart)

        assert (await running).output_text == "worked for 3"
        assert count(postgres, database, "checkpoints") == 0
        assert count(postgres, database, "lgos_run_leases") == 0


async def test_process_that_stood_still_writes_nothing_and_ends_with_a_failure(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    async with deployment.replica() as first, deployment.replica() as second:
        paused = await ask(first)
        running = asyncio.create_task(outcome(resume(first, paused, "1")))
        await working(deployment, "1")
        os.kill(first.program.process.pid, signal.SIGSTOP)

        async def goes_on() -> bool:
            return await outcome(resume(second, paused, "0.5")) == (200, None)

        await becomes(goes_on, 4 * TTL_SECONDS, step=0.2)
        os.kill(first.program.process.pid, signal.SIGCONT)

        assert (await running)[0] == 500
        assert deployment.log() == ["prepared", "worked 1", "worked 0.5"]
        assert count(postgres, database, "checkpoints") == 0
        lost = first.metric("lgos_lease_hold_seconds_count")
        assert lost == 2
        assert "run lease" in first.program.output()


async def test_stopped_process_cannot_overwrite_a_pause_that_came_after_it(
    deployment: Deployment,
) -> None:
    chosen = {"lgos_run_id": str(uuid4())}
    async with deployment.replica() as first, deployment.replica() as second:
        running = asyncio.create_task(outcome(ask(first, "1", metadata=chosen)))
        await working(deployment, "1")
        os.kill(first.program.process.pid, signal.SIGSTOP)

        async def asked() -> Response | None:
            with contextlib.suppress(openai.ConflictError):
                return await ask(second, metadata=chosen)
            return None

        paused = None
        async with asyncio.timeout(4 * TTL_SECONDS):
            while paused is None:
                paused = await asked()
        os.kill(first.program.process.pid, signal.SIGCONT)

        assert (await running)[0] == 500
        assert len(calls(paused)) == 1
        assert (await resume(second, paused)).output_text == "worked for 0"


async def test_key_of_a_killed_process_is_free_after_the_ttl(deployment: Deployment) -> None:
    chosen = {"lgos_run_id": str(uuid4())}
    async with deployment.replica() as first, deployment.replica() as second:
        running = asyncio.create_task(outcome(ask(first, "30", metadata=chosen)))
        await working(deployment, "30")
        first.program.process.kill()
        killed = time.monotonic()
        with pytest.raises(openai.APIConnectionError):
            await running

        async def free() -> bool:
            return await outcome(ask(second, "0", metadata=chosen)) == (200, None)

        await becomes(free, 2 * TTL_SECONDS)
        assert time.monotonic() - killed < TTL_SECONDS + 1
        assert second.metric("lgos_lease_expirations_total") == 1


async def test_storm_of_clients_that_leave_leaves_nothing(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    body = '{"model": "work", "input": "5", "metadata": {"lgos_run_id": "%s"}}'
    ids = [str(uuid4()) for _ in range(300)]
    async with deployment.replica() as replica:
        port = int(replica.url.split(":")[2].split("/")[0])

        async def leave(index: int, run_id: str) -> None:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            content = (body % run_id).encode()
            head = (
                f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n"
            )
            writer.write(head.encode() + content)
            await writer.drain()
            await asyncio.sleep((1 + index % 30) / 1000)
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            writer.transport.abort()

        await asyncio.gather(*[leave(index, run_id) for index, run_id in enumerate(ids)])

        async def empty() -> bool:
            return (
                count(postgres, database, "lgos_run_leases") == 0
                and replica.metric("lgos_leases_held") == 0
                and replica.metric("lgos_runs_in_progress") == 0
            )

        await becomes(empty, 5)
        assert count(postgres, database, "checkpoints") == 0
        again = await asyncio.gather(
            *[ask(replica, "0", metadata={"lgos_run_id": run_id}) for run_id in ids]
        )
        assert {one.output_text for one in again} == {"worked for 0"}


async def test_stale_connections_are_replaced_at_the_first_try(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    async with deployment.replica() as replica:
        paused = await asyncio.gather(*[ask(replica) for _ in range(10)])
        assert postgres.terminate_backends("lgos-checkpoints", database) > 1
        postgres.terminate_backends("lgos-leases", database)

        finished = await asyncio.gather(*[resume(replica, one) for one in paused])

        assert {one.output_text for one in finished} == {"worked for 0"}
        assert "Traceback" not in replica.program.output()


async def test_more_runs_than_connections_do_not_wait_for_each_other(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    async with deployment.replica() as replica:
        started = time.monotonic()
        finished = await asyncio.gather(*[ask(replica, "2") for _ in range(40)])

        assert {one.output_text for one in finished} == {"worked for 2"}
        assert time.monotonic() - started < 8
        assert postgres.backends("lgos-checkpoints", database) <= 10
        assert postgres.backends("lgos-leases", database) == 1


async def test_processes_that_start_at_once_make_the_tables_once(
    deployment: Deployment, postgres: PostgresServer, database: str
) -> None:
    async with AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(deployment.starting()) for _ in range(4)]
        for replica in replicas:
            replica.program.says("serving work", seconds=60)
            assert "Traceback" not in replica.program.output()
        tables = postgres.execute(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'", database
        )
        paused = await ask(replicas[0])
        assert (await resume(replicas[3], paused)).output_text == "worked for 0"
    async with deployment.replica():
        assert tables == postgres.execute(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'", database
        )


async def test_database_that_is_away_is_a_503_and_the_pause_is_kept(
    deployment: Deployment, postgres: PostgresServer
) -> None:
    async with deployment.replica() as replica:
        paused = await ask(replica)
        await asyncio.to_thread(postgres.stop)
        try:
            started = time.monotonic()
            assert (await outcome(resume(replica, paused)))[0] == 503
            assert time.monotonic() - started < 12
        finally:
            await asyncio.to_thread(postgres.start)

        async def finished() -> bool:
            return await outcome(resume(replica, paused)) == (200, None)

        await becomes(finished, 20, step=0.5)
        assert deployment.log() == ["prepared", "worked 0"]


async def test_pod_without_a_database_says_what_it_takes(deployment: Deployment) -> None:
    async with deployment.starting(LGOS_POSTGRES_DSN="") as replica:
        assert replica.program.exit_code() == 1
        assert "set LGOS_POSTGRES_DSN, on Kubernetes in the Secret lgos-platform" in (
            replica.program.output()
        )


async def test_pod_whose_database_is_away_says_so(deployment: Deployment) -> None:
    away = "postgresql://nobody:secret@127.0.0.1:1/none"
    async with deployment.starting(LGOS_POSTGRES_DSN=away) as replica:
        assert replica.program.exit_code() == 1
        assert "PostgreSQL cannot be used" in replica.program.output()
        assert "secret" not in replica.program.output()
