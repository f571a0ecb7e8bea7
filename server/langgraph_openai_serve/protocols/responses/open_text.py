"""An assistant message whose text is still coming.

A text delta is assembled from parts that are encoded once a message, so it costs one JSON string.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from langgraph_openai_serve.protocols.codec import dump_text
from langgraph_openai_serve.protocols.responses.events import EventWriter
from langgraph_openai_serve.protocols.responses.shapes import (
    Phase,
    message_item,
    refusal_part,
    text_part,
)
from langgraph_openai_serve.wire.errors import clean


class OpenText:
    """One message item from its first delta to its end.

    Args:
        writer: The stream's allocator.
        phase: What the message is for.
    """

    __slots__ = ("_delta_head", "_id", "_index", "_parts", "_phase", "_place", "_writer", "opening")

    def __init__(self, writer: EventWriter, phase: Phase) -> None:
        self._writer = writer
        self._phase: Phase = phase
        self._parts: list[str] = []
        self._id = writer.new_id("msg_")
        self._index, added = writer.add(message_item(self._id, "in_progress", [], phase))
        self._place = {"output_index": self._index, "item_id": self._id, "content_index": 0}
        head = {"type": "response.output_text.delta", **self._place, "logprobs": []}
        self._delta_head = (
            b"event: response.output_text.delta\ndata: " + orjson.dumps(head)[:-1] + b',"delta":'
        )
        self.opening = added + writer.event(
            "response.content_part.added", **self._place, part=text_part("")
        )
        """The frames that announce the message."""

    def delta(self, text: str) -> bytes:
        """Return the frame of one piece of text."""
        self._parts.append(text)
        writer = self._writer
        sequence = writer.sequence
        writer.sequence = sequence + 1
        return self._delta_head + dump_text(text) + b',"sequence_number":%d}\n\n' % sequence

    def close(
        self, status: str, *, annotations: Sequence[dict[str, Any]] = (), refusal: str | None = None
    ) -> bytes:
        """Return the frames that end the message."""
        event = self._writer.event
        whole = self._whole()
        part = text_part(whole, annotations)
        frames = b"".join(
            event(
                "response.output_text.annotation.added",
                **self._place,
                annotation_index=position,
                annotation=annotation,
            )
            for position, annotation in enumerate(annotations)
        )
        frames += event("response.output_text.done", **self._place, text=whole, logprobs=[])
        frames += event("response.content_part.done", **self._place, part=part)
        content = [part]
        if refusal is not None:
            refused, second = refusal_frames(
                self._writer, {**self._place, "content_index": 1}, refusal
            )
            frames += refused
            content.append(second)
        return frames + self._writer.done(
            self._index, message_item(self._id, status, content, self._phase)
        )

    def _whole(self) -> str:
        """Return exactly what the deltas carried, joined."""
        joined = "".join(self._parts)
        cleaned = clean(joined)
        # A surrogate pair that was split over two deltas went out as two replacement characters.
        return joined if cleaned == joined else "".join(map(clean, self._parts))


def refusal_frames(
    writer: EventWriter, place: dict[str, Any], refusal: str
) -> tuple[bytes, dict[str, Any]]:
    """Return the frames of a refusal part and the part itself."""
    refusal = clean(refusal)
    part = refusal_part(refusal)
    frames = (
        writer.event("response.content_part.added", **place, part=refusal_part(""))
        + writer.event("response.refusal.delta", **place, delta=refusal)
        + writer.event("response.refusal.done", **place, refusal=refusal)
        + writer.event("response.content_part.done", **place, part=part)
    )
    return frames, part
