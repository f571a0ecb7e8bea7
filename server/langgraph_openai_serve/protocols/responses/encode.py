"""`RunEvent`s → Responses stream events.

One allocator gives every stream its `sequence_number`s and `output_index`es; an item keeps its index and id from
`output_item.added` to the terminal object, whose `output` lists the items in that order. A text delta is assembled from
parts encoded once, so it costs one JSON string.
"""

from __future__ import annotations

from typing import Any

import orjson

from langgraph_openai_serve.errors import LgosError
from langgraph_openai_serve.protocols.codec import Mint, dump_text
from langgraph_openai_serve.protocols.responses.shapes import (
    Phase,
    ResponseFrame,
    call_item,
    message_item,
    refusal_part,
    text_part,
)
from langgraph_openai_serve.run.events import (
    MessageCompleted,
    RunEnded,
    RunEvent,
    StatusReported,
    TextDelta,
    ToolCalled,
)
from langgraph_openai_serve.wire.errors import clean


class ResponsesEncoder:
    """The events of one streamed Response."""

    def __init__(self, frame: ResponseFrame, mint: Mint) -> None:
        self._frame = frame
        self._mint = mint
        self._sequence = 0
        self._output: list[dict[str, Any]] = []
        self._answer: _OpenText | None = None
        self._answered = False
        self._ended = False

    def start(self) -> bytes:
        """Return `response.created` and `response.in_progress`."""
        response = self._frame.render("in_progress", [])
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def feed(self, event: RunEvent) -> bytes:
        """Return the frames of one event."""
        if type(event) is TextDelta:
            return self._text(event.text)
        match event:
            case StatusReported():
                return self._commentary(event.description)
            case MessageCompleted():
                return self._message(event)
            case ToolCalled():
                return self._call(event)
            case RunEnded():
                return self._finish(event)
            case _:
                return b""

    def fail(self, error: LgosError) -> bytes:
        """Close the open item as incomplete and return `response.failed` with what was sent."""
        if self._ended:
            return b""
        self._ended = True
        frames = b""
        if self._answer is not None:
            frames = self._close(self._answer, "incomplete", None)
        return frames + self._event(
            "response.failed", response=self._frame.render("failed", self._output, error=error)
        )

    def _text(self, text: str) -> bytes:
        frames = b""
        answer = self._answer
        if answer is None:
            answer, frames = self._open("final_answer")
            self._answer = answer
            self._answered = True
        answer.parts.append(text)
        sequence = self._sequence
        self._sequence = sequence + 1
        return (
            frames + answer.delta_head + dump_text(text) + b',"sequence_number":%d}\n\n' % sequence
        )

    def _commentary(self, description: str) -> bytes:
        comment, frames = self._open("commentary")
        text = clean(description)
        comment.parts.append(text)
        delta = dump_text(text) + b',"sequence_number":%d}\n\n' % self._sequence
        self._sequence += 1
        return frames + comment.delta_head + delta + self._close(comment, "completed", None)

    def _message(self, message: MessageCompleted) -> bytes:
        status = "completed" if message.complete else "incomplete"
        if self._answer is not None:
            return self._close(self._answer, status, message.refusal)
        if message.refusal is None:
            return b""
        self._answered = True
        index, item_id = self._reserve("msg_", "final_answer")
        frames = self._added(index, message_item(item_id, "in_progress", [], "final_answer"))
        refusal, part = self._refusal(index, item_id, 0, message.refusal)
        return (
            frames
            + refusal
            + self._done(index, message_item(item_id, status, [part], "final_answer"))
        )

    def _call(self, call: ToolCalled) -> bytes:
        self._answered = True
        index, item_id = self._reserve("fc_", None)
        done = call_item(item_id, call, call.call_id or self._mint.new_id("call_"))
        place = {"output_index": index, "item_id": item_id}
        arguments = done["arguments"]
        return (
            self._added(index, {**done, "status": "in_progress", "arguments": ""})
            + self._event("response.function_call_arguments.delta", **place, delta=arguments)
            + self._event(
                "response.function_call_arguments.done",
                **place,
                name=call.name,
                arguments=arguments,
            )
            + self._done(index, done)
        )

    def _finish(self, ended: RunEnded) -> bytes:
        frames = b""
        if not self._answered:
            answer, frames = self._open("final_answer")
            frames += self._close(answer, "incomplete" if ended.incomplete else "completed", None)
        self._ended = True
        status = "incomplete" if ended.incomplete else "completed"
        response = self._frame.render(
            "incomplete" if ended.incomplete else "completed",
            self._output,
            completed_at=None if ended.incomplete else self._mint.now(),
            usage=ended.usage,
            incomplete=ended.incomplete,
        )
        return frames + self._event(f"response.{status}", response=response)

    def _open(self, phase: Phase) -> tuple[_OpenText, bytes]:
        index, item_id = self._reserve("msg_", phase)
        frames = self._added(index, message_item(item_id, "in_progress", [], phase))
        place = {"output_index": index, "item_id": item_id, "content_index": 0}
        frames += self._event("response.content_part.added", **place, part=text_part(""))
        return _OpenText(index, item_id, phase), frames

    def _close(self, text: _OpenText, status: str, refusal: str | None) -> bytes:
        whole = text.whole()
        part = text_part(whole)
        place = {"output_index": text.index, "item_id": text.item_id, "content_index": 0}
        frames = self._event("response.output_text.done", **place, text=whole, logprobs=[])
        frames += self._event("response.content_part.done", **place, part=part)
        content = [part]
        if refusal is not None:
            refused, second = self._refusal(text.index, text.item_id, 1, refusal)
            frames += refused
            content.append(second)
        if text is self._answer:
            self._answer = None
        return frames + self._done(
            text.index, message_item(text.item_id, status, content, text.phase)
        )

    def _refusal(
        self, index: int, item_id: str, content_index: int, refusal: str
    ) -> tuple[bytes, dict[str, Any]]:
        refusal = clean(refusal)
        part = refusal_part(refusal)
        place = {"output_index": index, "item_id": item_id, "content_index": content_index}
        frames = (
            self._event("response.content_part.added", **place, part=refusal_part(""))
            + self._event("response.refusal.delta", **place, delta=refusal)
            + self._event("response.refusal.done", **place, refusal=refusal)
            + self._event("response.content_part.done", **place, part=part)
        )
        return frames, part

    def _reserve(self, prefix: str, phase: Phase | None) -> tuple[int, str]:
        """Take the next output index; the item itself follows when it is done."""
        index = len(self._output)
        item_id = self._mint.new_id(prefix)
        self._output.append(
            {} if phase is None else message_item(item_id, "in_progress", [], phase)
        )
        return index, item_id

    def _added(self, index: int, item: dict[str, Any]) -> bytes:
        return self._event("response.output_item.added", output_index=index, item=item)

    def _done(self, index: int, item: dict[str, Any]) -> bytes:
        self._output[index] = item
        return self._event("response.output_item.done", output_index=index, item=item)

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = orjson.dumps({"type": kind, "sequence_number": self._sequence, **fields})
        self._sequence += 1
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


class _OpenText:
    """A message item whose text is still coming."""

    __slots__ = ("delta_head", "index", "item_id", "parts", "phase")

    def __init__(self, index: int, item_id: str, phase: Phase) -> None:
        self.index = index
        self.item_id = item_id
        self.phase = phase
        self.parts: list[str] = []
        place = {"output_index": index, "item_id": item_id, "content_index": 0, "logprobs": []}
        head = orjson.dumps({"type": "response.output_text.delta", **place})[:-1]
        self.delta_head = b"event: response.output_text.delta\ndata: " + head + b',"delta":'

    def whole(self) -> str:
        """Return exactly what the deltas carried, joined."""
        joined = "".join(self.parts)
        cleaned = clean(joined)
        # A surrogate pair that was split over two deltas went out as two replacement characters.
        return joined if cleaned == joined else "".join(map(clean, self.parts))
