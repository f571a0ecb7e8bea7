"""The graphs that the server's tests call, by behaviour; no model, no key and no network behind them."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from langgraph_openai_serve import (
    ClientSettings,
    GraphConfig,
    GraphFeature,
    GraphRegistry,
    status_event,
)
from langgraph_openai_serve.ports.observer import RunObserver
from langgraph_openai_serve.testing import ScriptedChatModel, scripted_graph

SECRET = "db password=hunter2"
MANY = 3000
Answer = Callable[[Sequence[BaseMessage]], Awaitable[AIMessage]]


class Probe:
    """What a test sees of the graphs it called, and the gates it opens for them."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.left: asyncio.Queue[str] = asyncio.Queue()
        self.running = asyncio.Event()
        self.gate = asyncio.Event()


class Audience(ClientSettings):
    audience: str = "general"
    tags: dict[str, int] = {"a": 1}  # noqa: RUF012 - pydantic copies defaults


class Halves(TypedDict, total=False):
    a: str
    b: str


def configs(probe: Probe) -> dict[str, GraphConfig]:
    """All fixture graphs by their model name."""
    answers: dict[str, Answer] = {
        "echo": _echo,
        "ramble": _says(*["word "] * MANY),
        "two_tokens": _says("Hel", "lo", usage=(7, 2)),
        "text_then_call": _text_then_call,
        "two_calls": _two_calls,
        "fails_after_two": _says("Hel", "lo", fail_after=2, failure=SECRET),
        "fails_at_once": _fails,
        "length_stop": _says("Once", " upon", response_metadata={"finish_reason": "length"}),
        "filtered": _says("Well, ", response_metadata={"finish_reason": "content_filter"}),
        "refuses": _refuses,
        "refuses_after_text": _refuses_after_text,
        "cut_call": _cut_call,
        "empty": _says(usage=(7, 0)),
        "silent": _silent(probe),
        "slow_tokens": _slow(probe),
        "flood": _flood(probe),
        "code_points": _code_points,
        "history_probe": _history,
        "other_text": _other_text,
        "surrogates": _says("a\x00b", "\ud83c", "\udf0d"),
    }
    served = {
        name: GraphConfig(
            graph=scripted_graph(_counted(probe, name, answer)), description=f"{name} fixture."
        )
        for name, answer in answers.items()
    }
    return {
        **served,
        "status": GraphConfig(
            graph=scripted_graph(_counted(probe, "status", _status)),
            description="Tells what it does.",
            features={GraphFeature.CLIENT_EVENTS},
        ),
        "silent_status": GraphConfig(
            graph=scripted_graph(_counted(probe, "silent_status", _status)),
            description="Tells what it does, to nobody.",
        ),
        "settings_probe": GraphConfig(
            graph=_settings_graph(), description="Tells its settings.", client_settings=Audience
        ),
        "classifier_then_answer": GraphConfig(
            graph=_classifier(), description="Classifies in private."
        ),
        "loop_forever": GraphConfig(graph=_loop(), description="Never stops."),
        "parallel_text": GraphConfig(
            graph=_parallel(), description="Two voices.", output_to_message=_halves
        ),
    }


def registry(probe: Probe, observer: RunObserver | None = None) -> GraphRegistry:
    """A registry with all fixture graphs."""
    return GraphRegistry(graphs=configs(probe), observer=observer)


def _counted(probe: Probe, name: str, answer: Answer) -> Answer:
    async def counted(messages: Sequence[BaseMessage]) -> AIMessage:
        probe.runs[name] += 1
        return await answer(messages)

    return counted


async def _model(messages: Sequence[BaseMessage], *chunks: str, **options: Any) -> AIMessage:
    answer = await ScriptedChatModel(chunks=list(chunks), **options).ainvoke(list(messages))
    assert isinstance(answer, AIMessage)
    return answer


def _says(*chunks: str, **options: Any) -> Answer:
    async def says(messages: Sequence[BaseMessage]) -> AIMessage:
        return await _model(messages, *chunks, **options)

    return says


async def _echo(messages: Sequence[BaseMessage]) -> AIMessage:
    text = str(messages[-1].text)
    size = max(1, -(-len(text) // 3))
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    return await _model(messages, *chunks, usage=(7, 3))


async def _code_points(messages: Sequence[BaseMessage]) -> AIMessage:
    return await _model(messages, *messages[-1].text)


def _call(call_id: str, name: str, **arguments: Any) -> Any:
    return {"id": call_id, "name": name, "args": arguments, "type": "tool_call"}


async def _text_then_call(messages: Sequence[BaseMessage]) -> AIMessage:
    if messages[-1].type == "tool":
        return await _model(messages, "It is ", str(messages[-1].content), " degrees.")
    answer = await _model(messages, "Let me ", "check.", usage=(7, 5))
    return AIMessage(
        content=answer.content, tool_calls=[_call("call_w", "get_weather", city="Paris")]
    )


async def _two_calls(_messages: Sequence[BaseMessage]) -> AIMessage:
    calls = [
        _call("call_w", "get_weather", city="Paris"),
        _call("call_t", "get_time", zone="UTC"),
        _call("call_p", "private_tool"),
    ]
    return AIMessage(content="", tool_calls=calls)


async def _cut_call(_messages: Sequence[BaseMessage]) -> AIMessage:
    broken = {
        "id": "call_w",
        "name": "get_weather",
        "args": '{"city":"Pa',
        "error": None,
        "type": "invalid_tool_call",
    }
    return AIMessage(
        content="", invalid_tool_calls=[broken], response_metadata={"finish_reason": "length"}
    )


async def _fails(_messages: Sequence[BaseMessage]) -> AIMessage:
    raise ValueError(SECRET)


async def _refuses(_messages: Sequence[BaseMessage]) -> AIMessage:
    return AIMessage(content="", additional_kwargs={"refusal": "I cannot help with that."})


async def _refuses_after_text(messages: Sequence[BaseMessage]) -> AIMessage:
    answer = await _model(messages, "Hm. ")
    return AIMessage(
        content=[
            {"type": "text", "text": answer.content},
            {"type": "refusal", "refusal": "I cannot."},
        ]
    )


async def _other_text(messages: Sequence[BaseMessage]) -> AIMessage:
    await _model(messages, "One ", "thing")
    return AIMessage(content="Another thing")


async def _history(messages: Sequence[BaseMessage]) -> AIMessage:
    seen = [
        {
            "type": message.type,
            "content": message.content,
            "calls": getattr(message, "tool_calls", []),
            "result_of": getattr(message, "tool_call_id", None),
        }
        for message in messages
    ]
    return AIMessage(content=json.dumps(seen))


async def _status(messages: Sequence[BaseMessage]) -> AIMessage:
    write = get_stream_writer()
    write(status_event("Reading the question"))
    write(status_event("not for callers", hidden=True))
    write({"private": object()})
    write(status_event("Writing", done=True))
    return await _model(messages, "Do", "ne", delay_seconds=0.02)


def _silent(probe: Probe) -> Answer:
    async def silent(messages: Sequence[BaseMessage]) -> AIMessage:
        probe.running.set()
        try:
            await probe.gate.wait()
        finally:
            probe.left.put_nowait("silent")
        return await _model(messages, "done")

    return silent


def _slow(probe: Probe) -> Answer:
    async def slow(messages: Sequence[BaseMessage]) -> AIMessage:
        probe.running.set()
        try:
            answer = await _model(messages, *["tick "] * MANY, delay_seconds=0.02)
            await probe.gate.wait()  # a model that is not streamed answers at once
            return answer
        finally:
            probe.left.put_nowait("slow_tokens")

    return slow


def _flood(probe: Probe) -> Answer:
    """Says 64 KiB at a time until it is stopped, at most 256 MiB."""

    async def flood(messages: Sequence[BaseMessage]) -> AIMessage:
        try:
            return await _model(messages, *["x" * 65536] * 4096, delay_seconds=0.0005)
        finally:
            probe.left.put_nowait("flood")

    return flood


def _settings_graph() -> Any:
    async def tell(
        _state: MessagesState, config: RunnableConfig, runtime: Runtime[Audience]
    ) -> dict[str, Any]:
        seen = {
            "settings": runtime.context.model_dump(),
            "metadata": {
                key: value
                for key, value in config["metadata"].items()
                if key == "langfuse_session_id"
            },
        }
        return {"messages": [AIMessage(content=json.dumps(seen))]}

    builder = StateGraph(MessagesState, context_schema=Audience)
    builder.add_node("tell", tell)
    builder.add_edge(START, "tell")
    builder.add_edge("tell", END)
    return builder.compile()


def _classifier() -> Any:
    async def classify(state: MessagesState) -> dict[str, Any]:
        await _model(state["messages"], '{"category": "tech"}', disable_streaming=True)
        return {}

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await _model(state["messages"], "Yes")]}

    builder = StateGraph(MessagesState)
    builder.add_node("classify", classify)
    builder.add_node("answer", answer)
    builder.add_edge(START, "classify")
    builder.add_edge("classify", "answer")
    builder.add_edge("answer", END)
    return builder.compile()


def _loop() -> Any:
    async def step(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await _model(state["messages"], "a")]}

    builder = StateGraph(MessagesState)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_edge("step", "step")
    return builder.compile().with_config(recursion_limit=5)


def _parallel() -> Any:
    def voice(name: str) -> Any:
        async def speak(_state: Halves) -> Halves:
            delay = random.uniform(0, 0.004)  # noqa: S311 - jitter, not a secret
            answer = await _model([], f"{name.upper()}1", f"{name.upper()}2", delay_seconds=delay)
            return {name: str(answer.content)}  # type: ignore[misc] # the key is one of Halves

        return speak

    builder = StateGraph(Halves, input_schema=MessagesState)
    for name in ("a", "b"):
        builder.add_node(f"say_{name}", voice(name))
        builder.add_edge(START, f"say_{name}")
        builder.add_edge(f"say_{name}", END)
    return builder.compile()


def _halves(output: Any) -> AIMessage:
    return AIMessage(content=output["a"] + output["b"])
