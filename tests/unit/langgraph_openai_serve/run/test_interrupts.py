"""Turns and run leases: what a coordinator can do to a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_openai_serve import ConfigurationError, GraphConfig, GraphFeature, GraphRegistry
from langgraph_openai_serve.errors import (
    CoordinatorUnavailable,
    InterruptRefused,
    LeaseLost,
    RunBusy,
)
from langgraph_openai_serve.graph.registry import ModelInfo
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.ports.coordinator import RunKey, RunLease, current_lease
from langgraph_openai_serve.ports.observer import (
    SHUTDOWN,
    Api,
    LeaseRelease,
    LeaseResult,
    LeaseWrite,
    Mode,
    RunStatus,
)
from langgraph_openai_serve.run.events import Interrupted, RunEvent
from langgraph_openai_serve.run.interrupts import Operation, Turn
from langgraph_openai_serve.run.opening import open_run
from support.graphs import Probe
from support.interrupt_graphs import Saver, interrupt_configs
from support.observing import Ledger

OPERATION = Operation(UUID(int=1))


class Coordinator:
    """Grants every lease, and lets the test take it away."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.refusal = refusal
        self.leases: list[RunLease] = []
        self.released = 0

    @asynccontextmanager
    async def lease(self, key: RunKey) -> AsyncIterator[RunLease]:
        if self.refusal is not None:
            raise self.refusal
        lease = RunLease(key, len(self.leases) + 1)
        self.leases.append(lease)
        try:
            yield lease
        except asyncio.CancelledError:
            if lease.absorb_cancellation():
                raise LeaseLost(key.digest) from None
            raise
        finally:
            self.released += 1
        if lease.lost:
            raise LeaseLost(key.digest)


class Scene:
    def __init__(self, saver: Saver | None = None, refusal: Exception | None = None) -> None:
        self.probe = Probe()
        self.saver = saver or InMemorySaver()
        self.coordinator = Coordinator(refusal)
        self.ledger = Ledger()
        self.events: list[RunEvent] = []
        configs = interrupt_configs(self.probe, self.saver)
        self.registry = GraphRegistry(
            configs,
            models={name: ModelInfo(retention_seconds=60) for name in configs},
            observer=self.ledger,
            run_coordinator=self.coordinator,
        )

    @property
    def lease(self) -> RunLease:
        return self.coordinator.leases[-1]

    async def run(
        self, name: str, *, stream: bool = False, opened: Callable[[], None] | None = None
    ) -> None:
        model = self.registry.get(name)
        request = GraphRequest(name, Api.RESPONSES, ())
        mode = Mode.STREAM if stream else Mode.SYNC
        async with open_run(self.registry, model, request, OPERATION, mode=mode) as run:
            if opened is not None:
                self.probe.gate.set()
                opened()
                await asyncio.sleep(0)
            await run.execute(self.events.append, stream=stream)

    async def threads(self) -> list[Any]:
        return [entry async for entry in self.saver.alist(None)]


@pytest.mark.parametrize("stream", [False, True])
async def test_lost_lease_ends_the_run_and_keeps_it_from_writing(stream: bool) -> None:
    scene = Scene()
    running = asyncio.create_task(scene.run("never_asks", stream=stream))
    await scene.probe.running.wait()

    scene.coordinator.leases[0].lose()

    with pytest.raises(LeaseLost):
        await running
    assert running.cancelling() == 0
    assert await scene.threads() == []
    assert [status for _, status, _ in scene.ledger.ended] == [RunStatus.FAILED]
    assert scene.ledger.lease_ends == [LeaseRelease.LOST]
    assert LeaseWrite.CHECKPOINT in scene.ledger.refused_writes
    assert LeaseWrite.DELETE not in scene.ledger.refused_writes


async def test_lease_lost_without_anybody_noticing_is_noticed_by_the_write() -> None:
    scene = Scene()
    running = asyncio.create_task(scene.run("never_asks"))
    await scene.probe.running.wait()

    scene.coordinator.leases[0].deadline = 0  # long past
    scene.probe.gate.set()

    with pytest.raises(LeaseLost):
        await running
    assert await scene.threads() == []


async def test_lease_lost_at_the_very_end_is_no_success() -> None:
    scene = Scene()

    with pytest.raises(LeaseLost):
        await scene.run("never_asks", opened=lambda: setattr(scene.lease, "lost", True))
    assert scene.events == []


async def test_lease_lost_before_the_graph_runs_is_lost() -> None:
    scene = Scene()

    with pytest.raises(LeaseLost):
        await scene.run("ask_once", opened=lambda: scene.lease.lose())
    assert scene.probe.runs == {}


async def test_interrupt_without_a_question_fails() -> None:
    def ask(_state: MessagesState) -> dict[str, Any]:
        raise GraphInterrupt

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    compiled = graph.compile(checkpointer=InMemorySaver())
    turn = Turn(RunLease(RunKey("k", "m"), 1), {"configurable": {"thread_id": "k"}})

    with pytest.raises(InterruptRefused, match="without a question"):
        await turn.pause(compiled)


async def test_run_that_shuts_down_says_so() -> None:
    scene = Scene()
    running = asyncio.create_task(scene.run("never_asks"))
    await scene.probe.running.wait()

    running.cancel(SHUTDOWN)

    with pytest.raises(asyncio.CancelledError):
        await running
    assert scene.ledger.lease_ends == [LeaseRelease.SHUTDOWN]
    assert await scene.threads() == []


async def test_turn_is_over_before_the_pause_is_shown() -> None:
    scene = Scene()
    released: list[int] = []
    model = scene.registry.get("ask_once")
    request = GraphRequest("ask_once", Api.RESPONSES, ())

    def push(event: RunEvent) -> None:
        if isinstance(event, Interrupted):
            released.append(scene.coordinator.released)

    async with open_run(scene.registry, model, request, OPERATION, mode=Mode.SYNC) as run:
        await run.execute(push, stream=False)

    assert released == [1]
    assert scene.coordinator.released == 1
    assert current_lease.get() is None


async def test_pause_says_whose_it_is_and_how_long_it_waits() -> None:
    scene = Scene()
    await scene.run("ask_once")

    [entry] = await scene.threads()
    assert entry.metadata["lgos_model"] == "ask_once"
    assert entry.metadata["lgos_retention_seconds"] == 60
    assert entry.config["configurable"]["thread_id"] == scene.coordinator.leases[0].key.digest


@pytest.mark.parametrize(
    ("refusal", "seen", "result"),
    [
        (RunBusy(), RunBusy, LeaseResult.CONTENDED),
        (CoordinatorUnavailable("down"), CoordinatorUnavailable, LeaseResult.ERROR),
        (OSError("down"), CoordinatorUnavailable, LeaseResult.ERROR),
    ],
)
async def test_refused_lease_runs_nothing(
    refusal: Exception, seen: type[Exception], result: LeaseResult
) -> None:
    scene = Scene(refusal=refusal)

    with pytest.raises(seen):
        await scene.run("ask_once")

    assert scene.probe.runs == {}
    assert scene.ledger.leases == [result]
    assert scene.ledger.created == []


async def test_graph_with_leftovers_begins_anew() -> None:
    saver = InMemorySaver()
    first = Scene(saver)
    await first.run("ask_once")
    [entry] = await first.threads()
    # What a process leaves behind that ended before it could clean up: a thread where nothing is pending.
    graph = first.registry.get("ask_once").graph
    await graph.aupdate_state(entry.config, {"messages": []}, as_node="ask")
    second = Scene(saver)

    await second.run("ask_once")

    assert isinstance(second.events[0], Interrupted)
    assert second.probe.runs["first"] == 1


def test_model_without_a_checkpointer_cannot_pause() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("a", lambda _state: {})
    graph.add_edge(START, "a")
    features = {GraphFeature.INTERRUPTS}

    with pytest.raises(ConfigurationError, match=r"compile\(checkpointer="):
        GraphRegistry({"m": GraphConfig(graph=graph.compile(), description="d", features=features)})
    broken = graph.compile(checkpointer=InMemorySaver(), interrupt_before=["a"])
    with pytest.raises(ConfigurationError, match="static breakpoints"):
        GraphRegistry({"m": GraphConfig(graph=broken, description="d", features=features)})


async def test_guarded_checkpointer_stays_what_it_is() -> None:
    class Mine(InMemorySaver):
        """A checkpointer of a user's own."""

    scene = Scene(Mine())
    guarded = scene.registry.get("ask_once").graph.checkpointer

    assert isinstance(guarded, Mine)
    assert type(guarded).__name__ == "GuardedMine"
    # Outside a turn nobody holds a lease, and nothing is refused.
    await guarded.adelete_thread("t")
