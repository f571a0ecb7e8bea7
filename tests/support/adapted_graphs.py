"""Fixture graphs with adapters, states, contexts and nested graphs of their own, and graphs that say odd things."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from pydantic import AfterValidator

from langgraph_openai_serve import (
    ClientSettings,
    GraphConfig,
    GraphFeature,
    GraphRequest,
    status_event,
)
from langgraph_openai_serve.graph.request import NamedTool
from langgraph_openai_serve.testing import ScriptedChatModel, scripted_graph
from support.tool_graphs import steps


class Told(TypedDict):
    told: str


def one_node(node: Callable[..., Any], state: Any = MessagesState, **options: Any) -> Any:
    """A graph of one node."""
    builder: Any = StateGraph(state, **options)
    builder.add_node("only", node)
    builder.add_edge(START, "only")
    builder.add_edge("only", END)
    return builder.compile()


async def say(*chunks: str, **options: Any) -> AIMessage:
    answer = await ScriptedChatModel(chunks=list(chunks), **options).ainvoke([])
    assert isinstance(answer, AIMessage)
    return answer


def request_facts(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
    """Everything of a request that a graph can see, as the input of a graph without messages."""
    choice = request.tool_choice
    facts = {
        "messages": [_message_facts(message) for message in messages],
        "tools": list(request.tools),
        "tool_choice": [choice.type, choice.name] if isinstance(choice, NamedTool) else choice,
        "server_tools": sorted(request.server_tools),
        "metadata": dict(request.metadata),
        "conversation_id": request.conversation_id,
        "user": request.user,
    }
    return {"told": json.dumps(facts)}


def _message_facts(message: BaseMessage) -> dict[str, Any]:
    return {
        "type": message.type,
        "id": message.id,
        "content": message.content,
        "calls": [[c["id"], c["name"], c["args"]] for c in getattr(message, "tool_calls", ())],
        "result_of": getattr(message, "tool_call_id", None),
    }


def request_probe() -> GraphConfig:
    """Answers with what it was asked; its state has no messages."""
    return GraphConfig(
        graph=one_node(lambda state: state, Told),
        description="Tells its request.",
        request_to_input=request_facts,
        output_to_message=lambda output: AIMessage(output["told"]),
        server_tools=frozenset({"lgos_package_version", "web_search"}),
    )


class Tone(ClientSettings):
    audience: Annotated[str, AfterValidator(str.lower)] = "General"
    style: dict[str, int] = {"long": 1, "formal": 2}  # noqa: RUF012 - pydantic copies defaults


class Secrets(TypedDict):
    """A runtime context that is nobody's business."""

    api_key: str
    audience: str
    user: str | None


async def _tell_context(_state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
    context = runtime.context
    shown = context if isinstance(context, dict) else context.model_dump()
    return {"messages": [AIMessage(json.dumps(shown))]}


def _secrets(request: GraphRequest, settings: Tone) -> Secrets:
    return {"api_key": "server-owned", "audience": settings.audience, "user": request.user}


async def _secrets_later(request: GraphRequest, settings: Tone) -> Secrets:
    return _secrets(request, settings)


def contexts() -> dict[str, GraphConfig]:
    """Graphs that tell their runtime context: the settings themselves, or what a factory makes of them."""
    graph = one_node(_tell_context, context_schema=Secrets)
    factories: dict[str, Any] = {"factory": _secrets, "async_factory": _secrets_later}
    made = {
        name: GraphConfig(
            graph=graph, description="Context.", client_settings=Tone, context_factory=factory
        )
        for name, factory in factories.items()
    }
    plain = one_node(_tell_context, context_schema=Tone)
    return {**made, "tone": GraphConfig(graph=plain, description="Tone.", client_settings=Tone)}


async def _shout(state: Told) -> Told:
    return {"told": (await say(*state["told"].upper())).text}


async def _later(value: Any) -> Any:
    return value


def adapted() -> dict[str, GraphConfig]:
    """A graph without messages, adapted by functions and by coroutines."""

    def to_input(_request: GraphRequest, messages: list[BaseMessage]) -> Told:
        return {"told": messages[-1].text}

    def to_message(output: Told) -> AIMessage:
        return AIMessage(output["told"])

    graph = one_node(_shout, Told)
    later: dict[str, Callable[..., Awaitable[Any]]] = {
        "request_to_input": lambda request, messages: _later(to_input(request, messages)),
        "output_to_message": lambda output: _later(to_message(output)),
    }
    return {
        "shout": GraphConfig(
            graph=graph,
            description="Shouts.",
            request_to_input=to_input,
            output_to_message=to_message,
        ),
        "shout_later": GraphConfig(graph=graph, description="Shouts.", **later),
    }


def nested() -> Any:
    """A graph whose answer is streamed by a graph inside it."""

    async def answer(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [await say("from ", "inside")]}

    builder = StateGraph(MessagesState)
    builder.add_node("inner", one_node(answer))
    builder.add_edge(START, "inner")
    builder.add_edge("inner", END)
    return builder.compile()


async def _two_models(_state: MessagesState) -> dict[str, Any]:
    await say("private", usage=(100, 10), disable_streaming=True)
    return {"messages": [await say("a", "b", usage=(7, 3))]}


def _remembers() -> Any:
    async def count(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{len(state['messages'])} messages")]}

    builder = StateGraph(MessagesState)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    builder.add_edge("count", END)
    return builder.compile(checkpointer=InMemorySaver())


async def _whispers(_state: MessagesState) -> dict[str, Any]:
    write = get_stream_writer()
    for private in ({"debug": 1}, object(), "text", {"type": "lgos.status", "description": 7}):
        write(private)
    write(status_event("hidden step", hidden=True))
    return {"messages": [await say("quiet")]}


def _calls(**args: Any) -> Any:
    call = {"id": "call_1", "name": "f", "args": args, "type": "tool_call"}
    return scripted_graph(lambda _messages: AIMessage("", tool_calls=[call]))


def _finished(**metadata: Any) -> Any:
    return scripted_graph(lambda _messages: AIMessage("cut", response_metadata=metadata))


def _truncated(**more: Any) -> Any:
    broken = {"id": "call_1", "name": "f", "args": '{"city":"Pa', "error": None}
    call = {**broken, "type": "invalid_tool_call"}
    return scripted_graph(lambda _messages: AIMessage("", invalid_tool_calls=[call], **more))


def _mixed() -> Any:
    """Calls a server tool, then a function of the caller."""
    call = {"name": "lgos_package_version", "args": {"__arg1": "lgos"}, "type": "tool_call"}

    return steps(
        [AIMessage("", tool_calls=[{**call, "id": "call_v"}])],
        [ToolMessage("1.2.3", tool_call_id="call_v")],
        [
            AIMessage(
                "", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}]
            )
        ],
    )


def adapted_configs() -> dict[str, GraphConfig]:
    """The graphs by their model name."""
    graphs: dict[str, Any] = {
        "nested": nested(),
        "two_models": one_node(_two_models),
        "no_usage": one_node(lambda _state: {"messages": [AIMessage("plain")]}),
        "remembers": _remembers(),
        "refuses_in_block": scripted_graph(
            lambda _messages: AIMessage([{"type": "refusal", "refusal": "I cannot."}])
        ),
        "refuses_in_field": scripted_graph(
            lambda _messages: AIMessage("", additional_kwargs={"refusal": "I cannot."})
        ),
        "chat_length": _finished(finish_reason="length"),
        "chat_filter": _finished(finish_reason="content_filter"),
        "responses_length": _finished(
            status="incomplete", incomplete_details={"reason": "max_output_tokens"}
        ),
        "responses_filter": _finished(
            status="incomplete", incomplete_details={"reason": "content_filter"}
        ),
        "truncated": _truncated(response_metadata={"finish_reason": "length"}),
        "malformed": _truncated(),
        "surrogate_args": _calls(city="\ud800Paris"),
        "big_args": _calls(n=2**70),
        "object_args": _calls(when={1, 2}),
        "nan_args": _calls(n=float("nan")),
    }
    served = {
        name: GraphConfig(graph=graph, description=f"{name} fixture.")
        for name, graph in graphs.items()
    }
    return {
        **served,
        **contexts(),
        **adapted(),
        "request_probe": request_probe(),
        "mixed": GraphConfig(
            graph=_mixed(),
            description="Both kinds of tools.",
            server_tools=frozenset({"lgos_package_version"}),
        ),
        "whispers": GraphConfig(
            graph=one_node(_whispers),
            description="Says private things.",
            features={GraphFeature.CLIENT_EVENTS},
        ),
        "keeps_metadata": GraphConfig(
            graph=_finished(finish_reason="length"),
            description="Keeps why it stopped.",
            output_to_message=lambda output: output["messages"][-1],
        ),
        "drops_metadata": GraphConfig(
            graph=_finished(finish_reason="length"),
            description="Loses why it stopped.",
            output_to_message=lambda output: AIMessage(output["messages"][-1].text),
        ),
        "two_parts": GraphConfig(
            graph=steps(_said("one "), _said("two ")),
            description="Two model calls.",
            output_to_message=lambda output: AIMessage(
                "".join(
                    message.text
                    for message in output["messages"]
                    if not isinstance(message, HumanMessage)
                )
            ),
        ),
    }


def _said(text: str) -> Callable[[MessagesState], Awaitable[dict[str, Any]]]:
    async def node(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [await say(text)]}

    return node
