"""One Responses request and its answer as a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from langgraph_openai_serve.graph.registry import RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.protocols.codec import Mint
from langgraph_openai_serve.protocols.responses.encode import ResponsesEncoder
from langgraph_openai_serve.protocols.responses.resume import response_id
from langgraph_openai_serve.protocols.responses.shapes import (
    ResponseFrame,
    call_item,
    custom_call_item,
    custom_output_item,
    interrupt_item,
    message_content,
    message_item,
    search_item,
)
from langgraph_openai_serve.run.events import (
    Interrupted,
    MessageCompleted,
    RunEnded,
    RunEvent,
    ServerToolCalled,
    ServerToolReturned,
    ToolCalled,
)
from langgraph_openai_serve.run.interrupts import Operation
from langgraph_openai_serve.run.server_tools import WEB_SEARCH
from langgraph_openai_serve.wire.responses import ResponseCreate


@dataclass(frozen=True, slots=True)
class Identity:
    """Id and time of a Response that has them before it is made."""

    id: str
    created_at: int
    """Unix seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseExchange:
    """A decoded request with everything that its answer depends on."""

    model: RegisteredModel
    request: GraphRequest
    stream: bool
    ignored: tuple[str, ...] = ()
    wire: ResponseCreate
    mint: Mint
    operation: Operation | None = None
    identity: Identity | None = None

    @property
    def background(self) -> bool:
        """Whether an engine is to run the request."""
        return bool(self.wire.background)

    def encoder(self) -> ResponsesEncoder:
        """Return the encoder of the events."""
        return ResponsesEncoder(self._frame(), self.mint)

    def body(self, events: Sequence[RunEvent]) -> bytes:
        """Return the finished Response object."""
        frame = self._frame()
        output: list[dict[str, Any]] = []
        searches: dict[str, dict[str, Any]] = {}
        ended = RunEnded()
        for event in events:
            match event:
                case ServerToolCalled(name=name) if name == WEB_SEARCH:
                    item = search_item(self.mint.new_id("ws_"), "in_progress", event)
                    searches[event.call_id] = item
                    output.append(item)
                case ServerToolCalled():
                    output.append(custom_call_item(self.mint.new_id("ctc_"), event))
                case ServerToolReturned(call_id=call_id) if call_id in searches:
                    searches[call_id]["status"] = "failed" if event.failed else "completed"
                case ServerToolReturned():
                    output.append(custom_output_item(self.mint.new_id("ctco_"), event))
                case MessageCompleted():
                    output += self._message(event, events)
                case ToolCalled():
                    call_id = event.call_id or self.mint.new_id("call_")
                    output.append(call_item(self.mint.new_id("fc_"), event, call_id))
                case Interrupted():
                    output.append(interrupt_item(self.mint.new_id("fc_"), event, frame.id))
                case RunEnded():
                    ended = event
        return orjson.dumps(
            frame.render(
                "incomplete" if ended.incomplete else "completed",
                output,
                completed_at=None if ended.incomplete else self.mint.now(),
                usage=ended.usage,
                incomplete=ended.incomplete,
            )
        )

    def _message(
        self, message: MessageCompleted, events: Sequence[RunEvent]
    ) -> list[dict[str, Any]]:
        """Return the answer's item; an answer of nothing but calls has none."""
        calls = any(isinstance(event, ToolCalled) for event in events)
        if not message.text and message.refusal is None and calls:
            return []
        status = "completed" if message.complete else "incomplete"
        content = message_content(message)
        return [message_item(self.mint.new_id("msg_"), status, content, "final_answer")]

    def _frame(self) -> ResponseFrame:
        operation = self.operation
        if self.identity is not None:
            known = self.identity
            return ResponseFrame(known.id, known.created_at, self.model.id, self.wire)
        new_id = (
            self.mint.new_id("resp_")
            if operation is None
            else response_id(operation.id, self.mint.new_uuid())
        )
        return ResponseFrame(new_id, self.mint.now(), self.model.id, self.wire)
