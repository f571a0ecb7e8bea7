"""`RunEvent`: the only vocabulary between a graph and a protocol.

A streamed run pushes any number of `TextDelta` and `StatusReported`; every run pushes `ServerToolCalled` and
`ServerToolReturned` for tools that the request selected, then one `MessageCompleted`, a `ToolCalled` for each call the
caller has to execute, and one `RunEnded`. A run that pauses has an `Interrupted` for each of its questions in their
place. A failed run raises instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from langgraph_openai_serve.run.citations import Citation


@dataclass(slots=True)
class TextDelta:
    """A piece of the answer's text; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class StatusReported:
    """Progress that the graph shows to its caller."""

    description: str


@dataclass(frozen=True, slots=True)
class MessageCompleted:
    """The answer: exactly the text that was streamed, if any was."""

    text: str
    refusal: str | None = None
    citations: tuple[Citation, ...] = ()
    complete: bool = True
    """False when the model stopped early."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A function that the caller has to execute."""

    call_id: str
    name: str
    arguments: str
    """JSON text; raw and possibly cut when `complete` is false."""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ServerToolCalled:
    """The graph calls a tool of its own that the request selected."""

    call_id: str
    name: str
    input: str


@dataclass(frozen=True, slots=True)
class ServerToolReturned:
    """The result of a `ServerToolCalled`."""

    call_id: str
    output: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The run waits for an answer; all of a pause's come together, and nothing but `RunEnded` follows."""

    interrupt_id: str
    state: str
    """Stands for this pause of the run; the same for all its interrupts."""
    payload: str
    """JSON text."""


class IncompleteReason(StrEnum):
    """Why an answer stopped early, in OpenAI's words."""

    MAX_OUTPUT_TOKENS = "max_output_tokens"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of all model calls of a run, as the models reported them."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over and did not fail."""

    incomplete: IncompleteReason | None = None
    usage: Usage | None = None


RunEvent = (
    TextDelta
    | StatusReported
    | ServerToolCalled
    | ServerToolReturned
    | MessageCompleted
    | ToolCalled
    | Interrupted
    | RunEnded
)
Push = Callable[[RunEvent], None]
"""Takes one event; synchronous, called on the event loop."""
