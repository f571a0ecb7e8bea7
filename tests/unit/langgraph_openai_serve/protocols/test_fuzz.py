"""Mutated request bodies: refused with an envelope or taken, never a crash."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.config import GraphConfig, UnsupportedFields
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.protocols.chat.decode import decode as decode_chat
from langgraph_openai_serve.protocols.codec import Caller, Decode
from langgraph_openai_serve.protocols.responses.decode import decode as decode_response
from langgraph_openai_serve.wire.errors import error_envelope
from support.graphs import Probe, configs, registry
from support.transcripts import FLAT, NESTED

STRICT = registry(Probe())
LENIENT = GraphRegistry(
    {
        "echo": GraphConfig(
            graph=configs(Probe())["echo"].graph,
            description="Takes all.",
            unsupported_fields=UnsupportedFields.IGNORE,
        )
    }
)
RESPONSE = {
    "model": "echo",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "a", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ],
    "tools": FLAT,
    "tool_choice": {"type": "function", "name": "get_weather"},
    "metadata": {"a": "b"},
    "stream": True,
}
CHAT = {
    "model": "echo",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ],
    "tools": NESTED,
    "stream": True,
    "stream_options": {"include_usage": True},
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=5)
    | st.sampled_from(["message", "function_call", "custom", "web_search", "user", "echo"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at]
    if not isinstance(value, dict | list):
        return found
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found += paths(item, (*at, key))
    return found


@st.composite
def mutations(draw: st.DrawFn, valid: Any) -> bytes:
    body = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(paths(body)[1:]))
        place = body
        for key in way:
            place = place[key]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                place[last] = draw(VALUES)
            case "remove":
                del place[last]
            case "add" if isinstance(place, dict):
                place[draw(st.text(max_size=5))] = draw(VALUES)
            case _:
                place.insert(last, draw(VALUES))
    raw = json.dumps(body).encode()
    at = draw(st.integers(0, len(raw)))
    return draw(st.sampled_from([raw, raw, raw, raw[:at], raw[:at] + b"\xff" + raw[at:]]))


def check(decode: Decode, raw: bytes, models: GraphRegistry) -> None:
    try:
        exchange = decode(raw, models, Caller())
    except RequestError as error:
        document = json.loads(error_envelope(error))["error"]
        assert set(document) == {"message", "type", "param", "code"}
        assert document["type"] == "invalid_request_error"
        assert 0 < len(document["message"]) < 300
    else:
        assert exchange.model.id == "echo"
        assert exchange.encoder().start()
        assert all(isinstance(name, str) for name in exchange.ignored)


@pytest.mark.parametrize("models", [STRICT, LENIENT], ids=["strict", "lenient"])
@settings(deadline=None, max_examples=250)
@given(raw=mutations(RESPONSE))
def test_mutated_responses_bodies_are_taken_or_refused(models: GraphRegistry, raw: bytes) -> None:
    check(decode_response, raw, models)


@pytest.mark.parametrize("models", [STRICT, LENIENT], ids=["strict", "lenient"])
@settings(deadline=None, max_examples=250)
@given(raw=mutations(CHAT))
def test_mutated_chat_bodies_are_taken_or_refused(models: GraphRegistry, raw: bytes) -> None:
    check(decode_chat, raw, models)


@pytest.mark.parametrize("models", [STRICT, LENIENT], ids=["strict", "lenient"])
@pytest.mark.parametrize(("decode", "valid"), [(decode_response, RESPONSE), (decode_chat, CHAT)])
def test_unchanged_bodies_are_taken(models: GraphRegistry, decode: Decode, valid: Any) -> None:
    assert decode(json.dumps(valid).encode(), models, Caller()).stream


@pytest.mark.parametrize("models", [STRICT, LENIENT], ids=["strict", "lenient"])
def test_nul_is_refused_beside_a_number_that_is_none(models: GraphRegistry) -> None:
    raw = b'{"model":"echo","input":"\\u0000","tools":[{"type":"function","name":"f",'
    raw += b'"parameters":{"x":NaN}}]}'

    with pytest.raises(RequestError):
        decode_response(raw, models, Caller())


@pytest.mark.parametrize("name", ["@", "@text", ""])
def test_unknown_field_with_an_odd_name_is_left_out(name: str) -> None:
    raw = json.dumps({"model": "echo", "input": "hi", name: None}).encode()

    assert decode_response(raw, LENIENT, Caller()).ignored == (name,)
    with pytest.raises(RequestError, match="Unknown parameter"):
        decode_response(raw, STRICT, Caller())


def test_nul_is_refused_by_a_lenient_model_too() -> None:
    with pytest.raises(RequestError, match=r"U\+0000"):
        decode_response(b'{"model":"echo","input":"a\\u0000"}', LENIENT, Caller())
