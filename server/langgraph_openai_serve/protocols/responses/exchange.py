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
from langgraph_openai_serve.protocols.responses.shapes import (
    ResponseFrame,
    call_item,
    message_content,
    message_item,
)
from langgraph_openai_serve.run.events import MessageCompleted, RunEnded, RunEvent, ToolCalled
from langgraph_openai_serve.wire.responses import ResponseCreate


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseExchange:
    """A decoded request with everything that its answer depends on."""

    model: RegisteredModel
    request: GraphRequest
    stream: bool
    wire: ResponseCreate
    mint: Mint

    def encoder(self) -> ResponsesEncoder:
        """Return the encoder of the events."""
        return ResponsesEncoder(self._frame(), self.mint)

    def body(self, events: Sequence[RunEvent]) -> bytes:
        """Return the finished Response object."""
        frame = self._frame()
        message = MessageCompleted("")
        calls: list[dict[str, Any]] = []
        ended = RunEnded()
        for event in events:
            match event:
                case MessageCompleted():
                    message = event
                case ToolCalled():
                    call_id = event.call_id or self.mint.new_id("call_")
                    calls.append(call_item(self.mint.new_id("fc_"), event, call_id))
                case RunEnded():
                    ended = event
        output = calls
        if message.text or message.refusal is not None or not calls:
            status = "completed" if message.complete else "incomplete"
            item = message_item(
                self.mint.new_id("msg_"), status, message_content(message), "final_answer"
            )
            output = [item, *calls]
        return orjson.dumps(
            frame.render(
                "incomplete" if ended.incomplete else "completed",
                output,
                completed_at=None if ended.incomplete else self.mint.now(),
                usage=ended.usage,
                incomplete=ended.incomplete,
            )
        )

    def _frame(self) -> ResponseFrame:
        return ResponseFrame(self.mint.new_id("resp_"), self.mint.now(), self.model.id, self.wire)
