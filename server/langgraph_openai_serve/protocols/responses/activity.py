"""Server tools in a stream: calls and results of tools that the graph executes itself."""

from __future__ import annotations

from langgraph_openai_serve.protocols.responses.events import EventWriter
from langgraph_openai_serve.protocols.responses.shapes import (
    custom_call_item,
    custom_output_item,
    search_item,
)
from langgraph_openai_serve.run.events import ServerToolCalled, ServerToolReturned
from langgraph_openai_serve.run.server_tools import WEB_SEARCH


class ServerActivity:
    """Writes the items of server tools; a search stays open until its result is there."""

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._searches: dict[str, tuple[int, str, ServerToolCalled]] = {}

    def called(self, call: ServerToolCalled) -> bytes:
        """Return the frames of a call."""
        if call.name == WEB_SEARCH:
            return self._searching(call)
        writer = self._writer
        item_id = writer.new_id("ctc_")
        done = custom_call_item(item_id, call)
        index, added = writer.add({**done, "input": ""})
        place = {"output_index": index, "item_id": item_id}
        text = done["input"]
        return (
            added
            + writer.event("response.custom_tool_call_input.delta", **place, delta=text)
            + writer.event("response.custom_tool_call_input.done", **place, input=text)
            + writer.done(index, done)
        )

    def returned(self, result: ServerToolReturned) -> bytes:
        """Return the frames of a result."""
        writer = self._writer
        search = self._searches.pop(result.call_id, None)
        if search is None:
            item = custom_output_item(writer.new_id("ctco_"), result)
            index, added = writer.add({**item, "status": "in_progress"})
            return added + writer.done(index, item)
        index, item_id, call = search
        if result.failed:
            return writer.done(index, search_item(item_id, "failed", call))
        completed = writer.event(
            "response.web_search_call.completed", output_index=index, item_id=item_id
        )
        return completed + writer.done(index, search_item(item_id, "completed", call))

    def fail(self) -> bytes:
        """Return the frames that end what has no result."""
        frames = b"".join(
            self._writer.done(index, search_item(item_id, "failed", call))
            for index, item_id, call in self._searches.values()
        )
        self._searches.clear()
        return frames

    def _searching(self, call: ServerToolCalled) -> bytes:
        writer = self._writer
        item_id = writer.new_id("ws_")
        index, added = writer.add(search_item(item_id, "in_progress", call))
        self._searches[call.call_id] = (index, item_id, call)
        place = {"output_index": index, "item_id": item_id}
        return (
            added
            + writer.event("response.web_search_call.in_progress", **place)
            + writer.event("response.web_search_call.searching", **place)
        )
