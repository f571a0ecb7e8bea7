"""The supported subset of `POST /v1/responses`.

Source: OpenAI API reference, "Create a model response" and its input items.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from langgraph_openai_serve.wire.fields import (
    CallId,
    EmptyList,
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

ItemStatus = Literal["in_progress", "completed", "incomplete"]


class InputText(Strict):
    """Text of an input message."""

    type: Literal["input_text"]
    text: str
    prompt_cache_breakpoint: Unsupported = None


class InputFile(Strict):
    """A file by its id; inline data is outside the subset."""

    type: Literal["input_file"]
    file_id: FileId
    file_data: Unsupported = None
    file_url: Unsupported = None
    filename: Unsupported = None
    detail: Unsupported = None
    prompt_cache_breakpoint: Unsupported = None


class OutputText(Strict):
    """Text of a replayed answer."""

    type: Literal["output_text"]
    text: str
    annotations: list[dict[str, Any]] | None = None
    logprobs: EmptyList = None
    parsed: Unsupported = None


class OutputRefusal(Strict):
    """A refusal of a replayed answer."""

    type: Literal["refusal"]
    refusal: str


InputPart = Annotated[
    Annotated[InputText, Tag("@input_text")] | Annotated[InputFile, Tag("@input_file")],
    Discriminator(type_tag),
]
AssistantPart = Annotated[
    Annotated[OutputText, Tag("@output_text")]
    | Annotated[InputText, Tag("@input_text")]
    | Annotated[OutputRefusal, Tag("@refusal")],
    Discriminator(type_tag),
]


InputContent = Annotated[
    Annotated[str, Tag("@text")] | Annotated[list[InputPart], Tag("@parts")],
    Discriminator(content_tag),
]
AssistantContent = Annotated[
    Annotated[str, Tag("@text")] | Annotated[list[AssistantPart], Tag("@parts")],
    Discriminator(content_tag),
]


class InputMessage(Strict):
    """What a person or the application said."""

    type: Literal["message"] | None = "message"
    role: Literal["user", "system", "developer"]
    content: InputContent
    id: str | None = None
    status: ItemStatus | None = None
    phase: Unsupported = None


class AssistantMessage(Strict):
    """A replayed answer; incomplete ones can be replayed too."""

    type: Literal["message"] | None = "message"
    role: Literal["assistant"]
    content: AssistantContent
    id: str | None = None
    status: ItemStatus | None = None
    phase: Literal["commentary", "final_answer"] | None = None


class FunctionCall(Strict):
    """A replayed function call."""

    type: Literal["function_call"]
    call_id: CallId
    name: FunctionName
    arguments: str
    id: str | None = None
    status: ItemStatus | None = None
    async_: Annotated[Unsupported, Field(alias="async")] = None
    sdk_async: Annotated[Unsupported, Field(alias="async_")] = None
    caller: Unsupported = None
    namespace: Unsupported = None
    parsed_arguments: Any = None
    """What an SDK made of `arguments` for its caller; `arguments` is what counts."""


class FunctionCallOutput(Strict):
    """The result of a function call; a string, as in OpenAI's function calling guide."""

    type: Literal["function_call_output"]
    call_id: CallId
    output: str
    id: str | None = None
    status: ItemStatus | None = None
    caller: Unsupported = None
    name: Unsupported = None
    namespace: Unsupported = None


class CustomToolCall(Strict):
    """A replayed call of a registered custom tool."""

    type: Literal["custom_tool_call"]
    call_id: CallId
    name: FunctionName
    input: str
    id: str | None = None
    status: ItemStatus | None = None
    async_: Annotated[Unsupported, Field(alias="async")] = None
    sdk_async: Annotated[Unsupported, Field(alias="async_")] = None
    caller: Unsupported = None
    created_by: Unsupported = None
    namespace: Unsupported = None


class CustomToolCallOutput(Strict):
    """The replayed result of a registered custom tool."""

    type: Literal["custom_tool_call_output"]
    call_id: CallId
    output: str
    id: str | None = None
    status: ItemStatus | None = None
    caller: Unsupported = None
    created_by: Unsupported = None


class SearchAction(Strict):
    """What a replayed web search looked for."""

    type: Literal["search"]
    query: str | None = None
    queries: list[str] | None = None
    sources: Unsupported = None


class WebSearchCall(Strict):
    """A replayed web search."""

    type: Literal["web_search_call"]
    action: SearchAction
    id: str | None = None
    status: Literal["in_progress", "searching", "completed", "failed", "incomplete"] | None = None


def _item_tag(value: Any) -> str:
    kind = tag_of(value, "type") or "message"
    if kind == "message":
        return "@assistant" if tag_of(value, "role") == "assistant" else "@message"
    return f"@{kind}"


Item = Annotated[
    Annotated[InputMessage, Tag("@message")]
    | Annotated[AssistantMessage, Tag("@assistant")]
    | Annotated[FunctionCall, Tag("@function_call")]
    | Annotated[FunctionCallOutput, Tag("@function_call_output")]
    | Annotated[CustomToolCall, Tag("@custom_tool_call")]
    | Annotated[CustomToolCallOutput, Tag("@custom_tool_call_output")]
    | Annotated[WebSearchCall, Tag("@web_search_call")],
    Discriminator(_item_tag),
]


def _input_tag(value: Any) -> str:
    return "@text" if isinstance(value, str) else "@items"


Input = Annotated[
    Annotated[str, Tag("@text")] | Annotated[list[Item], Field(min_length=1), Tag("@items")],
    Discriminator(_input_tag),
]


class FunctionTool(Strict):
    """A function that the caller can execute."""

    type: Literal["function"]
    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    allowed_callers: Unsupported = None
    async_: Annotated[Unsupported, Field(alias="async")] = None
    defer_loading: Unsupported = None
    output_schema: Unsupported = None


class CustomTool(Strict):
    """Selects a custom tool that the graph registered; its description and format belong to the graph."""

    type: Literal["custom"]
    name: FunctionName
    allowed_callers: Unsupported = None
    async_: Annotated[Unsupported, Field(alias="async")] = None
    defer_loading: Unsupported = None
    description: Unsupported = None
    format: Unsupported = None


class WebSearchTool(Strict):
    """Selects the graph's web search."""

    type: Literal["web_search"]
    external_web_access: Unsupported = None
    filters: Unsupported = None
    search_context_size: Unsupported = None
    user_location: Unsupported = None


Tool = Annotated[
    Annotated[FunctionTool, Tag("@function")]
    | Annotated[CustomTool, Tag("@custom")]
    | Annotated[WebSearchTool, Tag("@web_search")],
    Discriminator(type_tag),
]


class NamedChoice(Strict):
    """A tool choice that names one function or registered custom tool."""

    type: Literal["function", "custom"]
    name: FunctionName


ToolChoice = Annotated[
    Annotated[Mode, Tag("@mode")] | Annotated[NamedChoice, Tag("@named")],
    Discriminator(choice_tag),
]


class TextOptions(Strict):
    """Output format; plain text only."""

    format: PlainTextFormat | None = None
    verbosity: Unsupported = None


class ResponseCreate(Strict):
    """The request body."""

    model: str
    input: Input
    instructions: str | None = None
    stream: bool | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    metadata: Metadata | None = None
    user: str | None = None
    background: bool | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    include: EmptyList = None
    parallel_tool_calls: Literal[True] | None = None
    service_tier: Literal["auto"] | None = None
    text: TextOptions | None = None
    truncation: Literal["disabled"] | None = None
    # Generation is the graph's own business; these are known and refused whatever their value.
    access_programs: Unsupported = None
    background_options: Unsupported = None
    context_management: Unsupported = None
    conversation: Unsupported = None
    image: Unsupported = None
    max_output_tokens: Unsupported = None
    max_tool_calls: Unsupported = None
    moderation: Unsupported = None
    prompt: Unsupported = None
    prompt_cache_key: Unsupported = None
    prompt_cache_options: Unsupported = None
    prompt_cache_retention: Unsupported = None
    reasoning: Unsupported = None
    safety_identifier: Unsupported = None
    stream_options: Unsupported = None
    temperature: Unsupported = None
    top_logprobs: Unsupported = None
    top_p: Unsupported = None
