"""`RunEvent`s → Responses stream events; exactly one terminal event ends a stream."""

from __future__ import annotations

from typing import Any

from langgraph_openai_serve.errors import LgosError
from langgraph_openai_serve.protocols.codec import Mint
from langgraph_openai_serve.protocols.responses.activity import ServerActivity
from langgraph_openai_serve.protocols.responses.events import EventWriter
from langgraph_openai_serve.protocols.responses.open_text import OpenText, refusal_frames
from langgraph_openai_serve.protocols.responses.shapes import (
    ResponseFrame,
    annotations_of,
    call_item,
    interrupt_item,
    message_item,
)
from langgraph_openai_serve.run.events import (
    Interrupted,
    MessageCompleted,
    RunEnded,
    RunEvent,
    ServerToolCalled,
    ServerToolReturned,
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
        self._writer = EventWriter(mint)
        self._activity = ServerActivity(self._writer)
        self._answer: OpenText | None = None
        self._answered = False
        self._ended = False

    def start(self) -> bytes:
        """Return `response.created` and `response.in_progress`."""
        event = self._writer.event
        response = self._frame.render("in_progress", [])
        return event("response.created", response=response) + event(
            "response.in_progress", response=response
        )

    def feed(self, event: RunEvent) -> bytes:
        """Return the frames of one event."""
        if type(event) is TextDelta:
            return self._text(event.text)
        match event:
            case StatusReported():
                return self._commentary(event.description)
            case ServerToolCalled():
                return self._activity.called(event)
            case ServerToolReturned():
                return self._activity.returned(event)
            case MessageCompleted():
                return self._message(event)
            case ToolCalled():
                return self._call(event)
            case Interrupted():
                shown_by = self._frame.id
                return self._called(interrupt_item(self._writer.new_id("fc_"), event, shown_by))
            case RunEnded():
                return self._finish(event)
            case _:
                return b""

    def fail(self, error: LgosError) -> bytes:
        """Close what is open as incomplete and return `response.failed` with what was sent."""
        if self._ended:
            return b""
        self._ended = True
        frames = self._activity.fail()
        if self._answer is not None:
            frames += self._answer.close("incomplete")
        response = self._frame.render("failed", self._writer.output, error=error)
        return frames + self._writer.event("response.failed", response=response)

    def _text(self, text: str) -> bytes:
        answer = self._answer
        if answer is not None:
            return answer.delta(text)
        self._answer = answer = OpenText(self._writer, "final_answer")
        self._answered = True
        return answer.opening + answer.delta(text)

    def _commentary(self, description: str) -> bytes:
        comment = OpenText(self._writer, "commentary")
        return comment.opening + comment.delta(clean(description)) + comment.close("completed")

    def _message(self, message: MessageCompleted) -> bytes:
        status = "completed" if message.complete else "incomplete"
        answer, self._answer = self._answer, None
        if answer is not None:
            return answer.close(
                status, annotations=annotations_of(message), refusal=message.refusal
            )
        return b"" if message.refusal is None else self._refusal(status, message.refusal)

    def _refusal(self, status: str, refusal: str) -> bytes:
        self._answered = True
        item_id = self._writer.new_id("msg_")
        index, added = self._writer.add(message_item(item_id, "in_progress", [], "final_answer"))
        place = {"output_index": index, "item_id": item_id, "content_index": 0}
        frames, part = refusal_frames(self._writer, place, refusal)
        item = message_item(item_id, status, [part], "final_answer")
        return added + frames + self._writer.done(index, item)

    def _call(self, call: ToolCalled) -> bytes:
        writer = self._writer
        item_id = writer.new_id("fc_")
        return self._called(call_item(item_id, call, call.call_id or writer.new_id("call_")))

    def _called(self, done: dict[str, Any]) -> bytes:
        """Return the frames of a whole function call."""
        self._answered = True
        writer = self._writer
        index, added = writer.add({**done, "status": "in_progress", "arguments": ""})
        place = {"output_index": index, "item_id": done["id"]}
        text = done["arguments"]
        return (
            added
            + writer.event("response.function_call_arguments.delta", **place, delta=text)
            + writer.event(
                "response.function_call_arguments.done", **place, name=done["name"], arguments=text
            )
            + writer.done(index, done)
        )

    def _finish(self, ended: RunEnded) -> bytes:
        self._ended = True
        frames = b""
        if not self._answered:
            answer = OpenText(self._writer, "final_answer")
            frames = answer.opening + answer.close(
                "incomplete" if ended.incomplete else "completed"
            )
        response = self._frame.render(
            "incomplete" if ended.incomplete else "completed",
            self._writer.output,
            completed_at=None if ended.incomplete else self._mint.now(),
            usage=ended.usage,
            incomplete=ended.incomplete,
        )
        kind = "response.incomplete" if ended.incomplete else "response.completed"
        return frames + self._writer.event(kind, response=response)
