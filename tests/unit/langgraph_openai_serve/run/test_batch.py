from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt, StateSnapshot

from langgraph_openai_serve.errors import InterruptRefused
from langgraph_openai_serve.run.batch import (
    InterruptBatch,
    PendingInterrupt,
    ToolInterrupts,
    batch_of,
)


def snapshot(*interrupts: Interrupt, checkpoint: str = "c1") -> StateSnapshot:
    config: Any = {"configurable": {"checkpoint_id": checkpoint}}
    return StateSnapshot({}, (), config, None, "2026-01-01", None, (), interrupts)


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def test_state_stands_for_checkpoint_and_interrupts() -> None:
    a, b = Interrupt("q", id="a"), Interrupt("q", id="b")
    batches = [
        batch_of(snapshot(a, b)),
        batch_of(snapshot(b, a)),
        batch_of(snapshot(a, b, checkpoint="c2")),
        batch_of(snapshot(a)),
    ]
    states = [batch.state for batch in batches if batch is not None]

    assert states[0] == states[1]
    assert len(set(states)) == 3
    assert {len(state) for state in states} == {64}


def test_nothing_is_pending_without_interrupts() -> None:
    assert batch_of(snapshot()) is None


def test_interrupts_that_share_an_id_are_refused() -> None:
    with pytest.raises(InterruptRefused, match="same id"):
        batch_of(snapshot(Interrupt("x", id="a"), Interrupt("y", id="a")))


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"a": [1, {"b": {1, 2}}]}, "set"),
        ({"a": (1, b"x")}, "bytes"),
        ([float("inf")], "inf"),
        ({(1, 2): "x"}, "tuple"),
        (nested(100_000), "list"),
    ],
    ids=["set", "bytes", "infinite", "key", "deep"],
)
def test_payload_that_is_no_json_is_named_by_type(payload: Any, kind: str) -> None:
    with pytest.raises(InterruptRefused, match=f"type {kind}"):
        batch_of(snapshot(Interrupt(payload, id="a")))


def test_payload_is_shown_as_text() -> None:
    batch = batch_of(snapshot(Interrupt({"q": "naïve?"}, id="a")))

    assert batch is not None
    assert batch.interrupts == (PendingInterrupt("a", '{"q": "naïve?"}'),)


BATCH = InterruptBatch("s" * 64, (PendingInterrupt("a", "1"),))


async def test_tool_that_never_ends_beside_one_that_asks_is_refused() -> None:
    tools = ToolInterrupts(siblings_seconds=0.01)
    asking, running = uuid4(), uuid4()
    tools.on_tool_start({}, "", run_id=asking)
    tools.on_tool_start({}, "", run_id=running)
    tools.on_tool_error(GraphInterrupt([Interrupt("?", id="a")]), run_id=asking)

    with pytest.raises(InterruptRefused, match="went on running"):
        await tools.check(BATCH)


async def test_tool_that_ends_meanwhile_is_waited_for() -> None:
    tools = ToolInterrupts()
    asking, running = uuid4(), uuid4()
    tools.on_tool_start({}, "", run_id=asking)
    tools.on_tool_start({}, "", run_id=running)
    tools.on_tool_error(GraphInterrupt([Interrupt("?", id="a")]), run_id=asking)
    asyncio.get_running_loop().call_later(0.01, lambda: tools.on_tool_end("x", run_id=running))

    await tools.check(BATCH)


@pytest.mark.parametrize("other", ["a", "b"])
async def test_second_tool_that_asked_is_refused(other: str) -> None:
    tools = ToolInterrupts()
    for one in ("a", other):
        run = uuid4()
        tools.on_tool_start({}, "", run_id=run)
        tools.on_tool_error(GraphInterrupt([Interrupt("?", id=one)]), run_id=run)

    with pytest.raises(InterruptRefused, match="own task"):
        await tools.check(BATCH)


@pytest.mark.parametrize("error", [ValueError("no"), GraphInterrupt()])
async def test_other_errors_of_tools_are_their_own_business(error: Exception) -> None:
    tools = ToolInterrupts()
    run = uuid4()
    tools.on_tool_start({}, "", run_id=run)
    tools.on_tool_error(error, run_id=run)

    await tools.check(BATCH)
