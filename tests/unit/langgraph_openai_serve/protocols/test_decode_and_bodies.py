"""What the two decoders hand to a graph, and the bytes of answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_openai_serve.errors import LgosError, RequestError, RunError
from langgraph_openai_serve.graph.config import GraphConfig, UnsupportedFields
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.request import NamedTool
from langgraph_openai_serve.protocols.chat.decode import decode as decode_chat
from langgraph_openai_serve.protocols.codec import Caller, Mint, dump_text
from langgraph_openai_serve.protocols.responses.decode import decode as decode_response
from langgraph_openai_serve.run.citations import Citation
from langgraph_openai_serve.run.events import (
    IncompleteReason,
    MessageCompleted,
    RunEnded,
    ServerToolCalled,
    ServerToolReturned,
    StatusReported,
    TextDelta,
    ToolCalled,
    Usage,
)
from langgraph_openai_serve.testing import ScriptedChatModel, chat_graph
from support.mint import NOW, counting_mint

GRAPH = chat_graph(ScriptedChatModel(chunks=["x"]))
SERVER_TOOLS = frozenset({"version", "web_search"})
REGISTRY = GraphRegistry(
    {
        "m": GraphConfig(graph=GRAPH, description="Strict.", server_tools=SERVER_TOOLS),
        "bare": GraphConfig(graph=GRAPH, description="No tools."),
        "lenient": GraphConfig(
            graph=GRAPH, description="Lenient.", unsupported_fields=UnsupportedFields.IGNORE
        ),
    }
)
FUNCTION = {"type": "function", "name": "f", "description": "F.", "strict": True}


def responses(**fields: Any) -> Any:
    body = {"model": "m", "input": "hi", **fields}
    caller = Caller("owner", "req-1", counting_mint())
    return decode_response(json.dumps(body).encode(), REGISTRY, caller)


def chat(**fields: Any) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
    caller = Caller("owner", "req-1", counting_mint())
    return decode_chat(json.dumps(body).encode(), REGISTRY, caller)


def refused(decode: Any, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        decode(**fields)
    return caught.value


@pytest.mark.parametrize("decode", [responses, chat])
def test_facts_of_the_caller_reach_the_graph(decode: Any) -> None:
    request = decode(user="u", metadata={"conversation_id": "c", "a": "b"}).request

    assert (request.scope, request.request_id, request.user) == ("owner", "req-1", "u")
    assert request.metadata == {"conversation_id": "c", "a": "b"}
    assert request.conversation_id == "c"
    assert request.tool_choice == "auto"


def test_responses_tools_are_told_apart_by_who_executes_them() -> None:
    tools = [FUNCTION, {"type": "custom", "name": "version"}, {"type": "web_search"}]
    request = responses(tools=tools, tool_choice={"type": "custom", "name": "version"}).request

    assert request.server_tools == SERVER_TOOLS
    assert request.tool_names == {"f"}
    assert request.tool_choice == NamedTool("custom", "version")
    assert request.tools[0]["function"] == {
        "name": "f",
        "description": "F.",
        "parameters": {"type": "object", "properties": {}},
        "strict": True,
    }


@pytest.mark.parametrize(
    ("model", "tool", "param"),
    [
        ("m", {"type": "function", "name": "version"}, "tools[0].name"),
        ("m", {"type": "custom", "name": "other"}, "tools[0].name"),
        ("m", {"type": "custom", "name": "web_search"}, "tools[0].name"),
        ("bare", {"type": "web_search"}, "tools[0].type"),
        ("m", [{"type": "web_search"}, {"type": "web_search"}], "tools[1].type"),
        ("lenient", {"type": "function", "name": "f f"}, "tools[0].name"),
    ],
)
def test_tool_that_is_not_available_is_refused(model: str, tool: Any, param: str) -> None:
    tools = tool if isinstance(tool, list) else [tool]
    assert refused(responses, model=model, tools=tools).param == param


def test_lenient_model_leaves_out_what_it_does_not_support() -> None:
    made = responses(
        model="lenient",
        temperature=1,
        include=["x"],
        zzz={"a": 1},
        tools=[{"type": "web_search"}, FUNCTION, {"type": "mcp"}, {"type": "custom", "name": "o"}],
    )

    assert set(made.ignored) == {"temperature", "include", "zzz", "tools[2]", "tools[0]"} | (
        set(made.ignored) & {"tools[3]"}
    )
    assert made.request.tool_names == {"f"}
    assert made.request.server_tools == frozenset()
    assert responses(model="lenient").ignored == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": {"a": 1}},
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
        {"tool_choice": "sometimes"},
    ],
)
def test_lenient_model_refuses_wrong_values_and_lost_content(fields: dict[str, Any]) -> None:
    assert refused(responses, model="lenient", **fields).param


def test_body_that_names_no_model_is_read_strictly() -> None:
    for raw in (b"[1]", b"{", b'{"model": 7}', b'{"model":"lenient"', b'{"model":"none","x":1}'):
        with pytest.raises(RequestError):
            decode_response(raw, REGISTRY, Caller())


def test_many_unsupported_fields_are_left_out_at_once() -> None:
    many = {f"x{number}": number for number in range(50)}

    assert len(responses(model="lenient", **many).ignored) == 50


ITEMS: list[Any] = [
    {"role": "system", "content": "S"},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "q"},
            {"type": "input_file", "file_id": "file-1"},
        ],
    },
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "phase": "final_answer",
        "status": "incomplete",
        "content": [
            {
                "type": "output_text",
                "text": "a",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url": "u",
                        "title": "t",
                        "start_index": 0,
                        "end_index": 0,
                    },
                    {"type": "file_path", "file_id": "f", "index": 0},
                ],
            },
            {"type": "refusal", "refusal": "No."},
            {"type": "input_text", "text": "b"},
        ],
    },
    {"role": "assistant", "content": "plain"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "version", "input": "x"},
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    },
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "1.2.3"},
    {"type": "function_call_output", "call_id": "c1", "output": "2"},
    {
        "type": "web_search_call",
        "id": "ws_2",
        "status": "failed",
        "action": {"type": "search", "query": "q"},
    },
    {"type": "web_search_call", "action": {"type": "search", "queries": ["q"], "sources": None}},
]


def test_replayed_items_become_messages_in_order() -> None:
    seen = responses(instructions="I", input=ITEMS).request.messages

    assert [type(message) for message in seen] == [
        SystemMessage, SystemMessage, HumanMessage, AIMessage, AIMessage, AIMessage,
        ToolMessage, ToolMessage, AIMessage,
    ]  # fmt: skip
    assert seen[2].content == [{"type": "text", "text": "q"}, {"type": "file", "file_id": "file-1"}]
    assert [block["type"] for block in seen[3].content] == ["text", "refusal", "text"]
    assert {block["phase"] for block in seen[3].content} == {"final_answer"}
    assert [a["type"] for a in seen[3].content[0]["annotations"]] == ["citation", "file_path"]
    assert seen[4].content == "plain"
    assert [call["id"] for call in seen[5].tool_calls] == ["c1", "c2"]
    assert [block["type"] for block in seen[5].content] == ["custom_tool_call", "web_search_call"]
    assert [message.tool_call_id for message in seen[6:8]] == ["c2", "c1"]
    assert seen[8].content == [
        {
            "type": "web_search_call",
            "id": "ws_2",
            "status": "failed",
            "action": {"type": "search", "query": "q"},
        },
        {"type": "web_search_call", "action": {"type": "search", "queries": ["q"]}},
    ]


@pytest.mark.parametrize(
    ("call", "result"),
    [("function_call", "custom_tool_call_output"), ("custom_tool_call", "function_call_output")],
)
def test_result_of_the_other_type_is_refused(call: str, result: str) -> None:
    fields = {"arguments": "{}"} if call == "function_call" else {"input": "x"}
    items = [
        {"type": call, "call_id": "c", "name": "f", **fields},
        {"type": result, "call_id": "c", "output": "1"},
    ]

    assert refused(responses, input=items).param == "input[1].call_id"


def test_chat_messages_keep_names_refusals_and_files() -> None:
    seen = chat(
        messages=[
            {"role": "system", "content": [{"type": "text", "text": "S"}], "name": "boss"},
            {"role": "assistant", "content": None, "refusal": "No."},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}],
                "refusal": "c",
                "name": "bot",
            },
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
        ]
    ).request.messages

    assert seen[0] == SystemMessage([{"type": "text", "text": "S"}], name="boss")
    assert seen[1].content == [{"type": "refusal", "refusal": "No."}]
    assert [block["type"] for block in seen[2].content] == ["text", "refusal", "refusal"]
    assert seen[2].name == "bot"


def test_chat_tool_choice_names_a_function() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    choice = {"type": "function", "function": {"name": "f"}}

    assert chat(tools=tools, tool_choice=choice).request.tool_choice == NamedTool("function", "f")
    assert refused(chat, tool_choice=choice).param == "tool_choice"
    assert refused(chat, tools=tools * 2).param == "tools[1].function.name"


def test_chat_function_must_not_have_the_name_of_a_server_tool() -> None:
    tools = [{"type": "function", "function": {"name": "version"}}]

    assert refused(chat, tools=tools).param == "tools[0].function.name"
    assert chat(model="bare", tools=tools).request.tool_names == {"version"}


WHOLE = [
    TextDelta("a body takes the text from the message"),
    ServerToolCalled("s1", "version", "x"),
    ServerToolReturned("s1", "1.2.3"),
    ServerToolCalled("s2", "web_search", "q"),
    ServerToolReturned("s2", "private"),
    MessageCompleted("Hi", "No."),
    ToolCalled("", "f", "{}"),
    RunEnded(usage=Usage(1, 2, 3, 4, 5)),
]


def test_response_body_has_every_item() -> None:
    body = json.loads(responses().body(WHOLE))

    assert [item["type"] for item in body["output"]] == [
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
        "message",
        "function_call",
    ]
    assert "private" not in json.dumps(body)
    assert [part["type"] for part in body["output"][3]["content"]] == ["output_text", "refusal"]
    assert body["output"][4]["call_id"].startswith("call_")
    assert (body["status"], body["created_at"], body["completed_at"]) == ("completed", NOW, NOW)
    assert body["usage"]["input_tokens_details"]["cached_tokens"] == 4
    assert body["usage"]["output_tokens_details"]["reasoning_tokens"] == 5


def test_failed_search_and_early_stop_show_in_the_body() -> None:
    events = [
        ServerToolCalled("s", "web_search", "q"),
        ServerToolReturned("s", "", failed=True),
        MessageCompleted("cut", complete=False),
        RunEnded(IncompleteReason.CONTENT_FILTER),
    ]
    body = json.loads(responses().body(events))

    assert [item["status"] for item in body["output"]] == ["failed", "incomplete"]
    assert (body["status"], body["completed_at"]) == ("incomplete", None)
    assert body["incomplete_details"] == {"reason": "content_filter"}


def test_response_echoes_what_was_asked() -> None:
    made = responses(
        user="u",
        metadata={"a": "b"},
        instructions="I",
        tools=[FUNCTION, {"type": "custom", "name": "version"}, {"type": "web_search"}],
        tool_choice={"type": "function", "name": "f"},
    )
    body = json.loads(made.body([MessageCompleted(""), RunEnded()]))

    assert (body["user"], body["metadata"], body["instructions"]) == ("u", {"a": "b"}, "I")
    assert [tool["type"] for tool in body["tools"]] == ["function", "custom", "web_search"]
    assert body["tool_choice"] == {"type": "function", "name": "f"}
    assert body["output"][0]["content"][0]["text"] == ""
    assert body["usage"] is None


@pytest.mark.parametrize(
    ("events", "content", "reason"),
    [
        ([MessageCompleted(""), RunEnded()], "", "stop"),
        ([MessageCompleted(""), ToolCalled("c", "f", "{}"), RunEnded()], None, "tool_calls"),
        ([MessageCompleted("a"), ToolCalled("c", "f", "{}"), RunEnded()], "a", "tool_calls"),
        ([MessageCompleted("", "No."), RunEnded()], None, "stop"),
        (
            [MessageCompleted("a", complete=False), RunEnded(IncompleteReason.MAX_OUTPUT_TOKENS)],
            "a",
            "length",
        ),
        (
            [TextDelta("a"), ServerToolReturned("c", "x"), MessageCompleted("a"), RunEnded()],
            "a",
            "stop",
        ),
    ],
)
def test_chat_body_content_and_finish_reason(
    events: list[Any], content: str | None, reason: str
) -> None:
    body = json.loads(chat().body(events))

    assert body["choices"][0]["message"]["content"] == content
    assert body["choices"][0]["finish_reason"] == reason
    assert "usage" not in body


def test_search_that_never_returned_is_failed_in_the_terminal_object() -> None:
    encoder = responses(stream=True).encoder()
    encoder.start()
    encoder.feed(ServerToolCalled("s", "web_search", "q"))
    frames = encoder.fail(RunError("secret")).decode()

    assert '"status":"failed","action"' in frames
    assert frames.count("event: response.failed") == 1


def test_encoders_leave_unknown_events_out() -> None:
    unknown: Any = object()

    assert responses().encoder().feed(unknown) == b""
    assert chat().encoder().feed(unknown) == b""


def test_failure_that_is_no_run_error_is_generic_too() -> None:
    assert b"secret" not in chat().encoder().fail(LgosError("secret"))


def test_text_that_json_cannot_carry_is_replaced() -> None:
    assert json.loads(dump_text("a\x00\ud800b")) == "a\ufffd\ufffdb"
    assert json.loads(dump_text("\ud83c\udf0d")) == "\U0001f30d"


BAD = "\ud800"


@pytest.mark.parametrize(
    "event",
    [
        MessageCompleted("a", citations=(Citation(BAD, BAD, 0, 0),)),
        MessageCompleted("a", refusal=BAD),
        ToolCalled(BAD, "f", BAD),
        ServerToolCalled(BAD, "version", BAD),
        ServerToolCalled(BAD, "web_search", BAD),
        ServerToolReturned(BAD, BAD),
        StatusReported(BAD),
    ],
    ids=lambda event: type(event).__name__,
)
@pytest.mark.parametrize("decode", [responses, chat])
def test_nothing_that_a_graph_says_breaks_an_answer(decode: Any, event: Any) -> None:
    ended: Any = RunEnded()
    encoder = decode(stream=True).encoder()
    text = [TextDelta("a")] if isinstance(event, MessageCompleted) else []
    frames = b"".join(map(encoder.feed, [*text, event, ended]))

    assert "\ud800" not in decode().body([event, ended]).decode() + frames.decode()


def test_schema_with_huge_numbers_is_echoed_as_it_came() -> None:
    deep: Any = 1
    for _ in range(150):
        deep = {"a": deep}
    schema = {"type": "object", "maximum": 2**70, "title": "\u5317", "deep": deep}
    made = responses(tools=[{**FUNCTION, "parameters": schema}])
    echoed = json.loads(made.body([MessageCompleted(""), RunEnded()]))["tools"][0]["parameters"]
    started = made.encoder().start().decode().split("\n")[1].removeprefix("data: ")

    assert echoed == made.request.tools[0]["function"]["parameters"] == schema
    assert json.loads(started)["response"]["tools"][0]["parameters"] == schema


def test_ids_are_new_and_times_are_whole_seconds() -> None:
    mint = Mint()

    assert mint.new_id("msg_").startswith("msg_")
    assert mint.new_id("msg_") != mint.new_id("msg_")
    assert type(mint.now()) is int
