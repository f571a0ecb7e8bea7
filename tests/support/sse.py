"""Reads an event stream the way a strict client does."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Frame(NamedTuple):
    """One event: its name, if it has one, and its data."""

    name: str | None
    data: str

    def json(self) -> Any:
        return json.loads(self.data)


def frames(raw: bytes) -> list[Frame]:
    """All events of a stream; anything that is no event, comment or blank line is an error."""
    text = raw.decode()
    assert text.endswith("\n\n"), "the stream ends in the middle of an event"
    found = []
    for block in text.split("\n\n")[:-1]:
        name, data = None, None
        for line in block.split("\n"):
            if line.startswith(":"):
                continue
            field, _, value = line.partition(": ")
            assert field in {"event", "data"}, f"not a line of this API: {line!r}"
            if field == "event":
                name = value
            else:
                assert data is None, "an event has more than one data line"
                data = value
        if data is not None:
            found.append(Frame(name, data))
    return found


def events(raw: bytes) -> list[dict[str, Any]]:
    """The typed events of a Responses stream; the SSE name must equal the type."""
    found = []
    for frame in frames(raw):
        event = frame.json()
        assert frame.name == event["type"]
        found.append(event)
    return found


def chunks(raw: bytes) -> list[dict[str, Any]]:
    """The chunks of a Chat stream that ended well."""
    *found, last = frames(raw)
    assert last == Frame(None, "[DONE]")
    assert all(frame.name is None for frame in found)
    return [frame.json() for frame in found]


def text_of(found: list[dict[str, Any]]) -> str:
    """All text deltas of a Responses stream, joined."""
    return "".join(e["delta"] for e in found if e["type"] == "response.output_text.delta")
