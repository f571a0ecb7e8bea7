"""`RunEvent`s → Chat Completions chunks.

All chunks of a stream share their beginning, so it is encoded once; a text chunk costs one JSON string. A failure in
mid-stream is a data frame with an `error` object, which OpenAI's SDKs raise; the stream then ends without `[DONE]`.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from langgraph_openai_serve.errors import LgosError
from langgraph_openai_serve.protocols.chat.shapes import (
    annotation_objects,
    call_object,
    finish_reason,
    usage_object,
)
from langgraph_openai_serve.protocols.codec import Mint, dump_text
from langgraph_openai_serve.run.events import (
    MessageCompleted,
    RunEnded,
    RunEvent,
    TextDelta,
    ToolCalled,
)
from langgraph_openai_serve.wire.errors import clean, error_envelope

DONE: Final = b"data: [DONE]\n\n"


class ChatEncoder:
    """The chunks of one streamed completion."""

    def __init__(
        self, completion_id: str, created: int, model: str, mint: Mint, *, include_usage: bool
    ) -> None:
        head = {
            "id": completion_id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._head = b"data: " + orjson.dumps(head)[:-1]
        # With include_usage OpenAI sends `usage: null` on every chunk but the last.
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"
        self._text_head = self._head + b',"choices":[{"index":0,"delta":{"content":'
        self._text_tail = b'},"finish_reason":null}]' + self._tail
        self._mint = mint
        self._include_usage = include_usage
        self._calls = 0
        self._annotations: list[dict[str, Any]] = []
        self._ended = False

    def start(self) -> bytes:
        """Return the chunk that names the role."""
        return self._chunk({"role": "assistant", "content": ""})

    def feed(self, event: RunEvent) -> bytes:
        """Return the chunks of one event."""
        if type(event) is TextDelta:
            return self._text_head + dump_text(event.text) + self._text_tail
        match event:
            case MessageCompleted():
                self._annotations = annotation_objects(event)
                return self._chunk({"refusal": clean(event.refusal)}) if event.refusal else b""
            case ToolCalled():
                call = {"index": self._calls, **call_object(event, self._mint)}
                self._calls += 1
                return self._chunk({"tool_calls": [call]})
            case RunEnded():
                return self._finish(event)
            case _:
                return b""  # Chat has no place for status and server tools

    def fail(self, error: LgosError) -> bytes:
        """Return the error frame."""
        if self._ended:
            return b""
        self._ended = True
        return b"data: " + error_envelope(error) + b"\n\n"

    def _finish(self, ended: RunEnded) -> bytes:
        self._ended = True
        delta = {"annotations": self._annotations} if self._annotations else {}
        frames = self._chunk(delta, finish_reason(ended, has_calls=self._calls > 0))
        if self._include_usage and ended.usage is not None:
            usage = orjson.dumps(usage_object(ended.usage))
            frames += self._head + b',"choices":[],"usage":' + usage + b"}\n\n"
        return frames + DONE

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = orjson.dumps({"index": 0, "delta": delta, "finish_reason": reason})
        return self._head + b',"choices":[' + choice + b"]" + self._tail
