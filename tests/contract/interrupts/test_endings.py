"""How runs that can pause end: threads, leases and what callers see."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import openai
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_openai_serve import InMemoryRunCoordinator
from langgraph_openai_serve.ports.observer import LeaseRelease, LeaseResult, RunStatus
from support.graphs import SECRET
from support.observing import eventually, within
from support.pausing import Stage, answers, calls, staged


async def failure(stage: Stage, model: str, content: Any = "go", **fields: Any) -> str:
    """Ask for a run that fails, and return the message that the caller sees."""
    if stage.streamed:
        response = await stage.ask(model, content, **fields)
        assert response.status == "failed"
        assert response.error is not None
        return response.error.message
    with pytest.raises(openai.InternalServerError) as failed:
        await stage.ask(model, content, **fields)
    body: Any = failed.value.body
    return str(body["message"])


def resuming(paused: Any, *texts: str) -> dict[str, Any]:
    return {"content": answers(paused, *texts), "previous_response_id": paused.id}


async def test_failure_after_the_answer_deletes_the_thread(stage: Stage) -> None:
    paused = await stage.ask("ask_then_fail")

    message = await failure(stage, "ask_then_fail", **resuming(paused, "yes"))

    assert SECRET not in message
    assert await stage.threads() == set()
    with pytest.raises(openai.ConflictError):
        await stage.ask("ask_then_fail", **resuming(paused, "no"))
    assert stage.ledger.lease_ends == [LeaseRelease.FINISHED] * 3


@pytest.mark.parametrize("model", ["ask_two_tools", "ask_slow_tools"])
async def test_tools_of_one_task_that_both_ask_are_refused(stage: Stage, model: str) -> None:
    message = await failure(stage, model)

    assert "own task" in message
    assert await stage.threads() == set()


@pytest.mark.parametrize(("model", "kind"), [("ask_odd_payload", "datetime"), ("ask_nan", "nan")])
async def test_payload_that_is_no_json_is_refused_by_type(
    stage: Stage, model: str, kind: str
) -> None:
    message = await failure(stage, model)

    assert "not JSON" in message
    assert kind in message
    assert await stage.threads() == set()


@pytest.mark.parametrize("model", ["undeclared", "undeclared_bare"])
async def test_pause_of_a_model_that_does_not_declare_it_fails(stage: Stage, model: str) -> None:
    message = await failure(stage, model)

    assert "declare" in message
    assert await stage.threads() == set()


async def test_observer_sees_pauses_and_leases(stage: Stage) -> None:
    paused = await stage.ask("ask_once")
    await stage.resume(paused, "yes")

    statuses = [status for _, status, _ in stage.ledger.ended]
    assert statuses == [RunStatus.INTERRUPTED, RunStatus.COMPLETED]
    assert stage.ledger.leases == [LeaseResult.OK] * 2
    assert stage.ledger.lease_ends == [LeaseRelease.FINISHED] * 2


async def test_second_request_for_a_running_operation_is_refused_at_once(stage: Stage) -> None:
    metadata = {"lgos_run_id": str(uuid4())}
    running = asyncio.create_task(stage.ask("never_asks", metadata=metadata))
    await stage.probe.running.wait()

    with pytest.raises(openai.ConflictError) as busy:
        await stage.ask("never_asks", metadata=metadata)
    body: Any = busy.value.body
    assert body["code"] == "run_busy"
    assert busy.value.response.headers["content-type"] == "application/json"
    other = asyncio.create_task(stage.ask("never_asks"))
    await eventually(lambda: stage.probe.runs["never_asks"] == 2)

    stage.probe.gate.set()
    assert (await running).output_text == "done"
    assert (await other).output_text == "done"
    assert stage.ledger.leases.count(LeaseResult.CONTENDED) == 1


async def test_of_many_answers_exactly_one_wins(stage: Stage) -> None:
    for _ in range(5):
        paused = await stage.ask("ask_once")
        stage.probe.runs.clear()

        ended = await asyncio.gather(
            *[stage.resume(paused, f"{index}") for index in range(10)], return_exceptions=True
        )

        finished = [one for one in ended if not isinstance(one, BaseException)]
        assert len(finished) == 1
        for one in ended:
            if isinstance(one, BaseException):
                assert isinstance(one, openai.ConflictError)
                body: Any = one.body
                assert body["code"] in {"run_busy", "interrupt_state_conflict"}
        assert stage.probe.runs["answered"] == 1


async def test_answer_may_follow_the_pause_at_once(stage: Stage) -> None:
    for _ in range(20):
        paused = await stage.ask("ask_once")
        assert (await stage.resume(paused, "yes")).output_text == "got:'yes'"


async def test_another_replica_goes_on(stage: Stage) -> None:
    paused = await stage.ask("ask_in_subgraph")

    coordinator = stage.server.registry.run_coordinator
    async with staged(stage.saver, coordinator=coordinator, probe=stage.probe) as replica:
        replica.streamed = stage.streamed
        finished = await replica.resume(paused, "yes")

    assert finished.output_text == "A started 1 time, inner:yes"


async def test_client_that_leaves_ends_the_run_and_its_thread() -> None:
    saver, coordinator = InMemorySaver(), InMemoryRunCoordinator()
    async with staged(saver, coordinator=coordinator) as stage:
        paused = await stage.ask("ask_then_wait")
        leaving = asyncio.create_task(stage.resume(paused, "yes"))
        await stage.probe.running.wait()

        leaving.cancel()

        assert await within(stage.probe.left) == "ask_then_wait"
        await eventually(lambda: len(stage.ledger.lease_ends) == 2)
        assert await stage.threads() == set()
        assert stage.ledger.ended[-1][1] is RunStatus.CANCELLED


class Undeletable(InMemorySaver):
    """Keeps every thread."""

    async def adelete_thread(self, thread_id: str) -> None:
        msg = f"cannot delete {thread_id}"
        raise OSError(msg)


@pytest.mark.parametrize("streamed", [False, True])
async def test_failing_clean_up_never_replaces_the_outcome(
    streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with staged(Undeletable()) as stage:
        stage.streamed = streamed
        paused = await stage.ask("ask_once")
        assert (await stage.resume(paused, "yes")).output_text == "got:'yes'"
        paused = await stage.ask("ask_then_fail")
        message = await failure(stage, "ask_then_fail", **resuming(paused, "yes"))

    assert message == "The graph failed while it processed the request."
    assert caplog.text.count("cannot delete the thread") == 2


async def test_leftover_of_a_finished_run_is_not_resumed() -> None:
    async with staged(Undeletable()) as stage:
        paused = await stage.ask("ask_once")
        await stage.resume(paused, "yes")

        with pytest.raises(openai.ConflictError):
            await stage.resume(paused, "again")


class Unreadable(InMemorySaver):
    """Cannot be read."""

    async def aget_tuple(self, config: Any) -> Any:
        raise OSError(config)


async def test_store_that_cannot_be_read_is_unavailable() -> None:
    async with staged(Unreadable()) as stage:
        with pytest.raises(openai.InternalServerError) as failed:
            await stage.ask("ask_once")

    assert failed.value.status_code == 503
    assert stage.probe.runs == {}
    assert stage.ledger.lease_ends == [LeaseRelease.FINISHED]


async def test_stream_of_a_pause_is_typed_from_start_to_end() -> None:
    async with staged(InMemorySaver()) as stage:
        stream: Any = await stage.client.responses.create(model="ask_once", input="go", stream=True)
        events = [event async for event in stream]

    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(7))
    response = events[-1].response
    assert events[0].response.id == response.id
    assert events[5].item == response.output[0]
    assert calls(response)[0].call_id.split("_")[3] == response.id.split("_")[3]
    assert json.loads(events[3].delta) == {"question": "Go?"}
