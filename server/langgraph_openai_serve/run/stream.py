"""LangGraph stream parts → `RunEvent`s.

Text comes by a callback inside the graph's own tasks, which costs no task switch a token. A graph that shows status gets
its text from LangGraph's `messages` stream instead: status goes through LangGraph's queue, and only what goes through the
same queue keeps its place. The same is done where `run.probe` finds that callbacks get no text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessageChunk
from langgraph.types import StreamMode, StreamPart

from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.graph.status import visible_description
from langgraph_openai_serve.run.callbacks import TextHandler, UsageHandler
from langgraph_openai_serve.run.events import Push, StatusReported
from langgraph_openai_serve.run.messages import text_of
from langgraph_openai_serve.run.server_tools import ServerToolTracker

Emit = Callable[[str], None]


class PartReader:
    """Reads the parts of one graph stream.

    Args:
        request: What the graph was asked.
        push: Takes status and server tools.
        emit: Takes every streamed piece of text; `None` for a run that is not streamed.
        shows_status: Whether the graph's status reaches the caller.
        by_callback: Whether text can come by callback.
    """

    def __init__(
        self,
        request: GraphRequest,
        push: Push,
        emit: Emit | None,
        *,
        shows_status: bool = False,
        by_callback: bool = True,
    ) -> None:
        self.output: Any = None
        """The root graph's newest state; its output once the stream has ended."""
        self.modes: list[StreamMode] = ["values"]
        """What to ask LangGraph for."""
        self.interrupted = False
        """Whether the graph has interrupted."""
        self.subgraphs = False
        self.handler = UsageHandler()
        """The callback handler to run the graph with."""
        self._push = push
        self._emit = emit
        self._tools = ServerToolTracker(request.server_tools, request.messages)
        if request.server_tools:
            self.modes.append("updates")
        if emit is None:
            return
        if shows_status:
            self.modes.append("custom")
        if shows_status or not by_callback:
            self.modes.append("messages")
            self.subgraphs = True
        else:
            self.handler = TextHandler(emit)

    def read(self, part: StreamPart[Any, Any]) -> None:
        """Push what one part says to the caller."""
        match part["type"]:
            case "messages":
                self._message(part["data"][0])
            case "custom":
                description = visible_description(part["data"])
                if description is not None:
                    self._push(StatusReported(description))
            case "values" if not part["ns"]:
                self.output = part["data"]
                self.interrupted = self.interrupted or bool(part["interrupts"])
            case "updates" if not part["ns"]:
                for event in self._tools.read(part["data"]):
                    self._push(event)
            case _:
                pass  # a nested graph's state is its own business

    def close(self) -> None:
        """Check what has to be true at the end of a run that finished.

        Raises:
            RunError: A server tool gave no result.
        """
        self._tools.close()

    def _message(self, message: Any) -> None:
        if self._emit is None or not isinstance(message, AIMessageChunk):
            return
        text = text_of(message)
        if text:
            self._emit(text)
