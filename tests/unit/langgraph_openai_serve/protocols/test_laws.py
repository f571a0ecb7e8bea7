"""Whatever a run says, both encoders write a lawful stream that the SDK adds up to its terminal object."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_openai_serve.errors import RunCancelled, RunError
from langgraph_openai_serve.protocols.chat.decode import decode as decode_chat
from langgraph_openai_serve.protocols.codec import Caller, Exchange
from langgraph_openai_serve.protocols.responses.decode import decode as decode_response
from langgraph_openai_serve.run.citations import Citation
from langgraph_openai_serve.run.events import (
    IncompleteReason,
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
from support import judge, sse
from support.graphs import Probe, registry
from support.mint import counting_mint

TERMINAL = ("response.completed", "response.incomplete", "response.failed")
REGISTRY = registry(Probe())
TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=8)
USAGE = st.none() | st.builds(Usage, *[st.integers(0, 10**6)] * 5)
INCOMPLETE = st.none() | st.sampled_from(IncompleteReason)


@st.composite
def server_tools(draw: st.DrawFn, call_id: str) -> list[RunEvent]:
    name = draw(st.sampled_from(["web_search", "lgos_package_version"]))
    call = ServerToolCalled(call_id, name, draw(TEXT))
    return [call, ServerToolReturned(call_id, draw(TEXT), draw(st.booleans()))]


@st.composite
def runs(draw: st.DrawFn) -> list[RunEvent]:
    """The events of a run that does not fail."""
    activity: list[RunEvent] = []
    for number in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["text", "status", "tool"]))
        if kind == "tool":
            activity += draw(server_tools(f"call_s{number}"))
        else:
            activity.append((TextDelta if kind == "text" else StatusReported)(draw(TEXT)))
    text = "".join(event.text for event in activity if isinstance(event, TextDelta))
    incomplete = draw(INCOMPLETE)
    citations = (Citation("https://e.org", "E", 0, 0),) if text and draw(st.booleans()) else ()
    refusal = draw(st.none() | TEXT)
    message = MessageCompleted(text, refusal, citations, complete=incomplete is None)
    calls = [
        ToolCalled(draw(st.sampled_from(["", f"call_{i}"])), "f", draw(TEXT), incomplete is None)
        for i in range(draw(st.integers(0, 3)))
    ]
    return [*activity, message, *calls, RunEnded(incomplete, draw(USAGE))]


def exchange(api: str, *, include_usage: bool = False) -> Exchange:
    tools: list[Any] = []
    if api == "responses":
        body = {"model": "echo", "input": "hi", "stream": True, "tools": tools}
        return decode_response(json.dumps(body).encode(), REGISTRY, Caller(mint=counting_mint()))
    body = {"model": "echo", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    body["stream_options"] = {"include_usage": include_usage}
    return decode_chat(json.dumps(body).encode(), REGISTRY, Caller(mint=counting_mint()))


def streamed(made: Exchange, events: Sequence[RunEvent], *, failed: bool = False) -> bytes:
    encoder = made.encoder()
    raw = encoder.start() + b"".join(map(encoder.feed, events))
    if failed:
        raw += encoder.fail(RunError("secret"))
    assert encoder.fail(RunCancelled("secret")) == b"", "something follows the terminal event"
    return raw


@settings(deadline=None, max_examples=100)
@given(events=runs(), cut=st.none() | st.integers(0, 12))
def test_responses_stream_is_lawful(events: list[RunEvent], cut: int | None) -> None:
    failed = cut is not None and cut < len(events)
    raw = streamed(exchange("responses"), events[:cut] if failed else events, failed=failed)
    found = sse.events(raw)
    terminal = found[-1]

    assert judge.judge(raw.decode())[0] == []
    assert [e["sequence_number"] for e in found] == list(range(len(found)))
    assert [e["type"] for e in found if e["type"] in TERMINAL] == [terminal["type"]]
    assert (terminal["type"] == "response.failed") is failed
    output = terminal["response"]["output"]
    ids = [item["id"] for item in output]
    assert len(set(ids)) == len(ids)
    assert all(ids[e["output_index"]] == e["item_id"] for e in found if "item_id" in e)
    done = {e["output_index"]: e["item"] for e in found if e["type"] == "response.output_item.done"}
    assert [done[index] for index in range(len(output))] == output
    assert all(item.get("status", "completed") != "in_progress" for item in output)
    assert "secret" not in raw.decode()


@settings(deadline=None, max_examples=100)
@given(events=runs(), cut=st.none() | st.integers(0, 12), usage=st.booleans())
def test_chat_stream_is_lawful(events: list[RunEvent], cut: int | None, usage: bool) -> None:
    failed = cut is not None and cut < len(events)
    made = exchange("chat", include_usage=usage)
    raw = streamed(made, events[:cut] if failed else events, failed=failed)
    frames = sse.frames(raw)

    assert judge.judge(raw.decode())[0] == []
    assert ("error" in frames[-1].data and "[DONE]" not in raw.decode()) is failed
    if failed:
        return
    chunks = sse.chunks(raw)
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    reported = usage and ended.usage is not None
    assert [c["choices"] for c in chunks].count([]) == (1 if reported else 0)
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    reasons = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
    assert len(reasons) == 1
    indices = [c["index"] for choice in choices for c in choice["delta"].get("tool_calls", ())]
    assert indices == list(range(len(indices)))


@settings(deadline=None, max_examples=100)
@given(events=runs())
@pytest.mark.parametrize("api", ["responses", "chat"])
def test_body_says_what_the_stream_says(api: str, events: list[RunEvent]) -> None:
    whole = [e for e in events if not isinstance(e, TextDelta | StatusReported)]
    body = json.loads(exchange(api).body(whole))
    raw = streamed(exchange(api), events)

    if api == "responses":
        response = sse.events(raw)[-1]["response"]
        answer = [i for i in response["output"] if i.get("phase") != "commentary"]
        assert sorted(map(_said, body["output"])) == sorted(map(_said, answer))
        for key in ("status", "usage", "incomplete_details", "error", "tools", "metadata"):
            assert body[key] == response[key]
    else:
        last = [c for c in sse.chunks(raw) if c["choices"]][-1]["choices"][0]
        assert body["choices"][0]["finish_reason"] == last["finish_reason"]
        annotations = body["choices"][0]["message"].get("annotations")
        assert annotations == last["delta"].get("annotations")


def _said(item: dict[str, Any]) -> str:
    """An item without what only its place in the stream decides."""
    made = {"id"} | ({"call_id"} if str(item.get("call_id", "")).startswith("call_0") else set())
    return json.dumps({key: item[key] for key in item if key not in made}, sort_keys=True)
