"""Runs through an encoder, and the pairing of calls and results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from langgraph_openai_serve.errors import RequestError, RunError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.request import NamedTool
from langgraph_openai_serve.ports.observer import Mode
from langgraph_openai_serve.protocols import drive
from langgraph_openai_serve.protocols.codec import Caller, Exchange
from langgraph_openai_serve.protocols.responses.decode import decode
from langgraph_openai_serve.protocols.tools import (
    CallLedger,
    OfferedTool,
    bindable,
    check_tools,
    replayed_call,
)
from langgraph_openai_serve.run.opening import open_run
from support import sse
from support.graphs import Probe, registry
from support.mint import counting_mint


def exchange(models: GraphRegistry, model: str) -> Exchange:
    body = {"model": model, "input": "hi"}
    return decode(json.dumps(body).encode(), models, Caller(mint=counting_mint()))


async def streamed(model: str, write: Callable[[bytes], None], probe: Probe | None = None) -> None:
    models = registry(probe or Probe())
    made = exchange(models, model)
    async with open_run(models, made.model, made.request, mode=Mode.STREAM) as run:
        await drive.stream(run, made.encoder(), write)


async def test_collected_run_is_one_body() -> None:
    models = registry(Probe())
    made = exchange(models, "two_tokens")
    async with open_run(models, made.model, made.request, mode=Mode.SYNC) as run:
        body = json.loads(await drive.collect(run, made))

    assert body["output"][0]["content"][0]["text"] == "Hello"


async def test_failed_collected_run_raises() -> None:
    models = registry(Probe())
    made = exchange(models, "fails_at_once")
    async with open_run(models, made.model, made.request, mode=Mode.SYNC) as run:
        with pytest.raises(RunError):
            await drive.collect(run, made)


@pytest.mark.parametrize(
    ("model", "last"),
    [("two_tokens", "response.completed"), ("fails_after_two", "response.failed")],
)
async def test_streamed_run_ends_with_its_terminal_frame(model: str, last: str) -> None:
    frames: list[bytes] = []
    await streamed(model, frames.append)

    assert sse.events(b"".join(frames))[-1]["type"] == last


async def test_cancelled_stream_writes_its_failure_and_stays_cancelled() -> None:
    frames: list[bytes] = []
    probe = Probe()
    task = asyncio.create_task(streamed("silent", frames.append, probe))
    await probe.running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert sse.events(b"".join(frames))[-1]["type"] == "response.failed"


def test_each_call_needs_one_result_after_it() -> None:
    ledger = CallLedger()
    ledger.call("a", "p")
    ledger.result("a", "p")
    ledger.close()

    with pytest.raises(RequestError, match="has two results"):
        ledger.result("a", "p")
    with pytest.raises(RequestError, match="appears twice"):
        ledger.call("a", "p")
    with pytest.raises(RequestError, match="No tool_call found"):
        ledger.result("b", "p")
    ledger.call("c", "place")
    with pytest.raises(RequestError, match="No result found") as caught:
        ledger.close()
    assert caught.value.param == "place"


def test_replayed_arguments_keep_numbers_of_any_size() -> None:
    assert replayed_call("c", "f", '{"n":1180591620717411303424}', "p")["args"] == {"n": 2**70}


@pytest.mark.parametrize("arguments", ["", "[]", "7", '{"a"', '{"a":NaN}', '{"a":"\\ud800"}'])
def test_replayed_arguments_must_be_an_object(arguments: str) -> None:
    with pytest.raises(RequestError, match="not a JSON object"):
        replayed_call("c", "f", arguments, "p")


def test_tools_are_declared_once_and_chosen_among_them() -> None:
    f, g = OfferedTool("function", "f", "first"), OfferedTool("custom", "g", "second")
    check_tools([f, g], NamedTool("custom", "g"))

    with pytest.raises(RequestError, match="declared twice") as caught:
        check_tools([f, OfferedTool("custom", "f", "second")], "auto")
    assert caught.value.param == "second"
    for choice in (
        NamedTool("function", "h"),
        NamedTool("function", "g"),
        NamedTool("custom", "f"),
    ):
        with pytest.raises(RequestError, match="not in tools") as caught:
            check_tools([f, g], choice)
        assert caught.value.param == "tool_choice"


def test_tool_keeps_only_what_was_given() -> None:
    assert bindable("f", None, {"type": "object"}, strict=None) == {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object"}},
    }


@pytest.mark.parametrize("field", ["background", "store", "previous_response_id"])
def test_what_needs_a_store_is_refused(field: str) -> None:
    value = "resp_1" if field == "previous_response_id" else True
    body = {"model": "echo", "input": "hi", field: value}
    with pytest.raises(RequestError) as caught:
        decode(json.dumps(body).encode(), registry(Probe()), Caller())

    assert caught.value.param == field
