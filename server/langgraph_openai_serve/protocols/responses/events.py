"""The one allocator of a stream: sequence numbers, output indices and item ids.

An item keeps its index and id from `output_item.added` to the terminal object, whose `output` lists the items in that
order.
"""

from __future__ import annotations

from typing import Any

import orjson

from langgraph_openai_serve.protocols.codec import Mint


class EventWriter:
    """Writes the frames of one streamed Response and keeps the items written so far."""

    def __init__(self, mint: Mint) -> None:
        self.sequence = 0
        """Number of the next event."""
        self.output: list[dict[str, Any]] = []
        """The items as they stand, by output index."""
        self._mint = mint

    def event(self, kind: str, **fields: Any) -> bytes:
        """Return the frame of one event."""
        data = orjson.dumps({"type": kind, "sequence_number": self.sequence, **fields})
        self.sequence += 1
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"

    def new_id(self, prefix: str) -> str:
        """Return a new id."""
        return self._mint.new_id(prefix)

    def add(self, item: dict[str, Any]) -> tuple[int, bytes]:
        """Give an item its output index; return it and the frame that announces the item."""
        index = len(self.output)
        self.output.append(item)
        return index, self.event("response.output_item.added", output_index=index, item=item)

    def done(self, index: int, item: dict[str, Any]) -> bytes:
        """Return the frame of a finished item."""
        self.output[index] = item
        return self.event("response.output_item.done", output_index=index, item=item)
