"""The supported subset of `POST /v1/chat/completions`.

Source: OpenAI API reference, "Create chat completion".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from langgraph_openai_serve.wire.fields import (
    CallId,
    FileId,
    FunctionName,
    Metadata,
    Mode,
    PlainTextFormat,
    Strict,
    Unsupported,
    choice_tag,
    content_tag,
    tag_of,
    type_tag,
)


class TextPart(Strict):
    """Text of a message."""

    type: Literal["text"]
    text: str
    prompt_cache_breakpoint: Unsupported = None


class RefusalPart(Strict):
    """A replayed refusal."""

    type: Literal["refusal"]
    refusal: str


class FileReference(Strict):
    """A file by its id; inline data is outside the subset."""

    file_id: FileId
    file_data: Unsupported = None
    filename: Unsupported = None


class FilePart(Strict):
    """A file that the caller uploaded elsewhere."""

    type: Literal["file"]
    file: FileReference
    prompt_cache_breakpoint: Unsupported = None


UserPart = Annotated[
    Annotated[TextPart, Tag("@text")] | Annotated[FilePart, Tag("@file")], Discriminator(type_tag)
]
AssistantPart = Annotated[
    Annotated[TextPart, Tag("@text")] | Annotated[RefusalPart, Tag("@refusal")],
    Discriminator(type_tag),
]


TextContent = Annotated[
    Annotated[str, Tag("@text")] | Annotated[list[TextPart], Tag("@parts")],
    Discriminator(content_tag),
]
UserContent = Annotated[
    Annotated[str, Tag("@text")] | Annotated[list[UserPart], Tag("@parts")],
    Discriminator(content_tag),
]
AssistantContent = Annotated[
    Annotated[str, Tag("@text")] | Annotated[list[AssistantPart], Tag("@parts")],
    Discriminator(content_tag),
]


class InstructionMessage(Strict):
    """Instructions; `developer` is today's name of `system`."""

    role: Literal["system", "developer"]
    content: TextContent
    name: str | None = None


class UserMessage(Strict):
    """What the person said."""

    role: Literal["user"]
    content: UserContent
    name: str | None = None


class CalledFunction(Strict):
    """Name and JSON arguments of a replayed call."""

    name: FunctionName
    arguments: str
    parsed_arguments: Any = None
    """What an SDK made of `arguments` for its caller; `arguments` is what counts."""


class ToolCall(Strict):
    """A replayed function call."""

    id: CallId
    type: Literal["function"] = "function"
    function: CalledFunction
    index: int | None = None


class AssistantMessage(Strict):
    """A replayed answer, as the SDK's message objects serialise it."""

    role: Literal["assistant"]
    content: AssistantContent | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    annotations: list[dict[str, Any]] | None = None
    audio: Unsupported = None
    function_call: Unsupported = None
    parsed: Unsupported = None


class ToolMessage(Strict):
    """The result of a function call."""

    role: Literal["tool"]
    content: TextContent
    tool_call_id: CallId


def _role_tag(value: Any) -> str:
    role = tag_of(value, "role")
    # A tuple, because whatever a caller sends as role must be comparable, not hashable.
    return "@instructions" if role in ("system", "developer") else f"@{role}"


Message = Annotated[
    Annotated[InstructionMessage, Tag("@instructions")]
    | Annotated[UserMessage, Tag("@user")]
    | Annotated[AssistantMessage, Tag("@assistant")]
    | Annotated[ToolMessage, Tag("@tool")],
    Discriminator(_role_tag),
]


class Function(Strict):
    """A function that the caller can execute."""

    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(Strict):
    """A function tool; custom tools are outside the Chat subset."""

    type: Literal["function"]
    function: Function


class NamedFunction(Strict):
    """The name inside a tool choice."""

    name: FunctionName


class NamedChoice(Strict):
    """A tool choice that names one function."""

    type: Literal["function"]
    function: NamedFunction


ToolChoice = Annotated[
    Annotated[Mode, Tag("@mode")] | Annotated[NamedChoice, Tag("@named")],
    Discriminator(choice_tag),
]


class StreamOptions(Strict):
    """Options of a streamed answer."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None


class ChatCompletionCreate(Strict):
    """The request body."""

    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[FunctionTool] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: Literal[True] | None = None
    metadata: Metadata | None = None
    user: str | None = None
    response_format: PlainTextFormat | None = None
    service_tier: Literal["auto"] | None = None
    store: Literal[False] | None = None
    # Generation is the graph's own business; these are known and refused whatever their value.
    audio: Unsupported = None
    frequency_penalty: Unsupported = None
    function_call: Unsupported = None
    functions: Unsupported = None
    logit_bias: Unsupported = None
    logprobs: Unsupported = None
    max_completion_tokens: Unsupported = None
    max_tokens: Unsupported = None
    modalities: Unsupported = None
    moderation: Unsupported = None
    n: Unsupported = None
    prediction: Unsupported = None
    presence_penalty: Unsupported = None
    prompt_cache_key: Unsupported = None
    prompt_cache_options: Unsupported = None
    prompt_cache_retention: Unsupported = None
    reasoning_effort: Unsupported = None
    safety_identifier: Unsupported = None
    seed: Unsupported = None
    stop: Unsupported = None
    temperature: Unsupported = None
    top_logprobs: Unsupported = None
    top_p: Unsupported = None
    verbosity: Unsupported = None
    web_search_options: Unsupported = None
