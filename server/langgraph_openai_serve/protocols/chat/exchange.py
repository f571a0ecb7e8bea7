"""One Chat Completions request and its answer as a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from langgraph_openai_serve.graph.registry import RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.protocols.chat.encode import ChatEncoder
from langgraph_openai_serve.protocols.chat.shapes import (
    annotation_objects,
    call_object,
    finish_reason,
    usage_object,
)
from langgraph_openai_serve.protocols.codec import Mint
from langgraph_openai_serve.run.events import MessageCompleted, RunEnded, RunEvent, ToolCalled
from langgraph_openai_serve.wire.errors import clean


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatExchange:
    """A decoded request with everything that its answer depends on."""

    model: RegisteredModel
    request: GraphRequest
    stream: bool
    ignored: tuple[str, ...] = ()
    include_usage: bool
    mint: Mint
    operation: None = None
    background: bool = False

    def encoder(self) -> ChatEncoder:
        """Return the encoder of the chunks."""
        return ChatEncoder(
            self.mint.new_id("chatcmpl-"),
            self.mint.now(),
            self.model.id,
            self.mint,
            include_usage=self.include_usage,
        )

    def body(self, events: Sequence[RunEvent]) -> bytes:
        """Return the `chat.completion` object."""
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        calls: list[dict[str, Any]] = []
        ended = RunEnded()
        for event in events:
            match event:
                case MessageCompleted():
                    message["content"] = clean(event.text)
                    message["refusal"] = None if event.refusal is None else clean(event.refusal)
                    if event.citations:
                        message["annotations"] = annotation_objects(event)
                case ToolCalled():
                    calls.append(call_object(event, self.mint))
                case RunEnded():
                    ended = event
        if calls:
            message["tool_calls"] = calls
        if (calls or message["refusal"] is not None) and not message["content"]:
            message["content"] = None
        reason = finish_reason(ended, has_calls=bool(calls))
        document: dict[str, Any] = {
            "id": self.mint.new_id("chatcmpl-"),
            "object": "chat.completion",
            "created": self.mint.now(),
            "model": self.model.id,
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
            ],
        }
        if ended.usage is not None:
            document["usage"] = usage_object(ended.usage)
        return orjson.dumps(document)
