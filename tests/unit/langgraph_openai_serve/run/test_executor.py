"""Runs of real graphs through `open_run`, with fakes around them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve.errors import RequestError, RunError
from langgraph_openai_serve.graph.config import GraphConfig, GraphFeature
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.graph.status import status_event
from langgraph_openai_serve.ports.observer import Api, Mode, RunStatus
from langgraph_openai_serve.run.events import (
    MessageCompleted,
    RunEnded,
    RunEvent,
    ServerToolCalled,
    ServerToolReturned,
    StatusReported,
    TextDelta,
    ToolCalled,
    Usage,
)
from langgraph_openai_serve.run.executor import Run
from langgraph_openai_serve.run.opening import open_run
from langgraph_openai_serve.testing import ScriptedChatModel, chat_graph, scripted_graph
from support.graphs import Audience, Probe, configs
from support.observing import Ledger


def request(**fields: Any) -> GraphRequest:
    return GraphRequest("m", Api.RESPONSES, (HumanMessage("hi"),), **fields)


def ticking() -> Callable[[], float]:
    times = iter(range(1000))
    return lambda: float(next(times))


@asynccontextmanager
async def opened(
    config: GraphConfig, ledger: Ledger, *, stream: bool = False, **fields: Any
) -> AsyncIterator[Run]:
    registry = GraphRegistry({"m": config}, observer=ledger)
    mode = Mode.STREAM if stream else Mode.SYNC
    async with open_run(
        registry, registry.get("m"), request(**fields), mode=mode, clock=ticking()
    ) as run:
        yield run


async def events_of(
    config: GraphConfig, *, stream: bool = False, ledger: Ledger | None = None, **fields: Any
) -> list[RunEvent]:
    events: list[RunEvent] = []
    async with opened(config, ledger or Ledger(), stream=stream, **fields) as run:
        await run.execute(events.append, stream=stream)
    return events


def says(*chunks: str, **options: Any) -> GraphConfig:
    model = ScriptedChatModel(chunks=list(chunks), **options)
    return GraphConfig(graph=chat_graph(model), description="Talks.")


async def test_streamed_run_pushes_text_as_it_comes() -> None:
    ledger = Ledger()

    assert await events_of(says("a", "b", usage=(1, 2)), stream=True, ledger=ledger) == [
        TextDelta("a"),
        TextDelta("b"),
        MessageCompleted("ab"),
        RunEnded(usage=Usage(1, 2, 3)),
    ]
    assert [seconds for _, seconds in ledger.first_outputs] == [1.0]
    assert [(status, seconds) for _, status, seconds in ledger.ended] == [
        (RunStatus.COMPLETED, 2.0)
    ]


async def test_run_that_is_not_streamed_pushes_the_result_only() -> None:
    ledger = Ledger()

    assert await events_of(says("a", "b"), ledger=ledger) == [MessageCompleted("ab"), RunEnded()]
    assert ledger.first_outputs == []


async def test_answer_without_streamed_text_is_one_delta() -> None:
    config = GraphConfig(graph=scripted_graph(lambda _: AIMessage("whole")), description="One.")

    assert (await events_of(config, stream=True))[0] == TextDelta("whole")


async def test_empty_answer_has_no_delta_but_a_first_output() -> None:
    ledger = Ledger()

    assert await events_of(says(), stream=True, ledger=ledger) == [MessageCompleted(""), RunEnded()]
    assert len(ledger.first_outputs) == 1


async def test_offered_functions_are_called_after_the_message() -> None:
    tools = ({"type": "function", "function": {"name": "get_time"}},)
    events = await events_of(configs(Probe())["two_calls"], tools=tools)

    assert events[1] == ToolCalled("call_t", "get_time", '{"zone":"UTC"}')


async def test_conversation_is_the_session_of_the_run() -> None:
    events = await events_of(
        configs(Probe())["settings_probe"], metadata={"conversation_id": "c-1"}
    )

    assert isinstance(events[0], MessageCompleted)
    assert json.loads(events[0].text)["metadata"] == {"langfuse_session_id": "c-1"}


async def test_synchronous_node_streams_from_its_thread() -> None:
    model = ScriptedChatModel(chunks=["a", "b", "c"])

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    config = GraphConfig(graph=builder.compile(), description="Synchronous.")
    events = await events_of(config, stream=True)

    assert [e.text for e in events if isinstance(e, TextDelta)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "stream", "message"),
    [
        ("fails_after_two", True, "ValueError in the graph"),
        ("fails_after_two", False, "ValueError in the graph"),
        ("other_text", True, "streamed text differs"),
        ("loop_forever", False, "GraphRecursionError in the graph"),
    ],
)
async def test_failure_is_a_run_error_and_counts_as_failed(
    name: str, stream: bool, message: str
) -> None:
    ledger = Ledger()
    with pytest.raises(RunError, match=message):
        await events_of(configs(Probe())[name], stream=stream, ledger=ledger)

    assert [status for _, status, _ in ledger.ended] == [RunStatus.FAILED]


async def test_early_stop_counts_as_incomplete() -> None:
    ledger = Ledger()
    await events_of(configs(Probe())["length_stop"], ledger=ledger)

    assert [status for _, status, _ in ledger.ended] == [RunStatus.INCOMPLETE]


async def test_cancelled_run_counts_as_cancelled_and_leaves_the_graph() -> None:
    ledger, probe = Ledger(), Probe()
    task = asyncio.create_task(events_of(configs(probe)["silent"], ledger=ledger))
    await probe.running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [status for _, status, _ in ledger.ended] == [RunStatus.CANCELLED]
    assert probe.left.get_nowait() == "silent"


async def test_run_that_ended_stays_completed_when_its_answer_is_cancelled() -> None:
    ledger = Ledger()

    async def answer() -> None:
        async with opened(says("a"), ledger) as run:
            await run.execute(lambda _: None, stream=False)
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await answer()

    assert [status for _, status, _ in ledger.ended] == [RunStatus.COMPLETED]


async def test_run_that_was_cancelled_before_it_started_counts_as_cancelled() -> None:
    ledger = Ledger()
    with pytest.raises(asyncio.CancelledError):
        async with opened(says("a"), ledger):
            raise asyncio.CancelledError

    assert [status for _, status, _ in ledger.ended] == [RunStatus.CANCELLED]


async def test_run_that_nobody_executed_counts_as_failed() -> None:
    ledger = Ledger()
    async with opened(says("a"), ledger):
        pass

    assert [status for _, status, _ in ledger.ended] == [RunStatus.FAILED]


async def test_refused_settings_are_no_run() -> None:
    ledger = Ledger()
    with pytest.raises(RequestError):
        await events_of(says("a"), ledger=ledger, metadata={"lgos_settings": "{}"})

    assert ledger.created == []


@pytest.mark.parametrize("adapter", ["context_factory", "request_to_input"])
async def test_adapter_that_raises_fails_the_run(adapter: str) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError(adapter)

    config = GraphConfig(graph=says("a").graph, description="Broken.", **{adapter: broken})  # type: ignore[arg-type] # one of two fields
    ledger = Ledger()
    with pytest.raises(RunError, match="KeyError in an adapter"):
        await events_of(config, ledger=ledger)

    assert [status for _, status, _ in ledger.ended] == [RunStatus.FAILED]


async def test_adapter_may_refuse_the_request() -> None:
    def refuse(*_: Any) -> Any:
        raise RequestError("Not today.", param="input")

    config = GraphConfig(graph=says("a").graph, description="Picky.", request_to_input=refuse)
    with pytest.raises(RequestError, match="Not today"):
        await events_of(config)


async def test_adapters_shape_input_context_and_output() -> None:
    seen: dict[str, Any] = {}

    async def to_input(made: GraphRequest, messages: list[Any]) -> Any:
        seen["request"] = made
        return {"messages": [*messages, HumanMessage("more")]}

    def context(_request: GraphRequest, settings: Any) -> Any:
        seen["settings"] = settings
        return settings

    async def to_message(output: Any) -> AIMessage:
        return AIMessage(content=f"{len(output['messages'])} messages")

    config = GraphConfig(
        graph=scripted_graph(lambda _: AIMessage("x")),
        description="Adapted.",
        client_settings=Audience,
        context_factory=context,
        request_to_input=to_input,
        output_to_message=to_message,
    )
    events = await events_of(config, metadata={"lgos_settings": '{"audience": "expert"}'})

    assert events[0] == MessageCompleted("3 messages")
    assert seen["settings"] == Audience(audience="expert")
    assert seen["request"].metadata["lgos_settings"] == '{"audience": "expert"}'


async def test_output_adapter_must_return_a_message() -> None:
    config = GraphConfig(
        graph=says("a").graph,
        description="Wrong.",
        output_to_message=lambda _: "text",  # type: ignore[arg-type,return-value] # what the test is about
    )
    with pytest.raises(RunError, match="returned str, not an AIMessage"):
        await events_of(config)


class Saver(InMemorySaver):
    """A checkpointer that tells what it was asked to delete, and may refuse."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        self.deleted: list[str] = []
        self.broken = broken

    async def adelete_thread(self, thread_id: str) -> None:
        self.deleted.append(thread_id)
        if self.broken:
            raise OSError("gone")
        await super().adelete_thread(thread_id)


@pytest.mark.parametrize("broken", [False, True])
async def test_nothing_is_kept_of_a_graph_with_a_checkpointer(broken: bool) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("x")]})
    builder.add_edge(START, "answer")
    saver = Saver(broken=broken)
    config = GraphConfig(graph=builder.compile(checkpointer=saver), description="Remembers.")
    events = await events_of(config)

    assert events[0] == MessageCompleted("x")
    assert len(saver.deleted) == 1
    if not broken:
        assert saver.storage == {}


def tool_graph() -> Any:
    """Calls a server tool in a node, reports status from a nested graph, then answers."""

    async def call(_state: MessagesState) -> dict[str, Any]:
        made = {"id": "1", "name": "search", "args": {"query": "x"}}
        return {"messages": [AIMessage(content="", tool_calls=[made])]}

    async def run(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [ToolMessage("found", tool_call_id="1")]}

    async def nested(_state: MessagesState) -> dict[str, Any]:
        get_stream_writer()(status_event("Deep"))
        get_stream_writer()("private")
        return {}

    inner = StateGraph(MessagesState)
    inner.add_node("nested", nested)
    inner.add_edge(START, "nested")
    compiled = inner.compile()

    async def delegate(state: MessagesState) -> dict[str, Any]:
        await compiled.ainvoke(state)
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("call", call)
    builder.add_node("run", run)
    builder.add_node("inner", delegate)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("done")]})
    for start, end in [(START, "call"), ("call", "run"), ("run", "inner"), ("inner", "answer")]:
        builder.add_edge(start, end)
    return builder.compile()


TOOLS = GraphConfig(
    graph=tool_graph(),
    description="Uses tools.",
    features={GraphFeature.CLIENT_EVENTS},
    server_tools={"search"},
)


async def test_selected_server_tools_and_status_are_told_in_order() -> None:
    events = await events_of(TOOLS, stream=True, server_tools=frozenset({"search"}))

    assert events[:5] == [
        ServerToolCalled("1", "search", "x"),
        ServerToolReturned("1", "found"),
        StatusReported("Deep"),
        TextDelta("done"),
        MessageCompleted("done"),
    ]


async def test_tools_that_were_not_selected_stay_private() -> None:
    events = await events_of(TOOLS, stream=True)

    assert [type(event) for event in events[:2]] == [StatusReported, TextDelta]


async def test_status_is_not_collected_without_a_stream() -> None:
    events = await events_of(TOOLS, server_tools=frozenset({"search"}))

    assert [type(event) for event in events] == [
        ServerToolCalled,
        ServerToolReturned,
        MessageCompleted,
        RunEnded,
    ]
