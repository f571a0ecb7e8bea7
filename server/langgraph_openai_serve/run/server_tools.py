"""Server tools: which calls and results of a graph's updates the caller gets to see.

A request selects tools that the graph executes itself. Their calls and results are read off completed updates of the root
graph; calls of other tools, nested graphs and results' internals stay private. Each public call is emitted once and needs
a result before the run may succeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_openai_serve.errors import RunError
from langgraph_openai_serve.run.events import ServerToolCalled, ServerToolReturned
from langgraph_openai_serve.run.messages import arguments_text

WEB_SEARCH: Final = "web_search"
CUSTOM_ARGUMENT: Final = "__arg1"
"""Where LangChain keeps the free-form input of a custom tool's call."""


class ServerToolTracker:
    """Follows the server tools of one run.

    Args:
        selected: Names that the request selected.
        history: The request's messages; a call replayed in them is graph input and not emitted again.
    """

    def __init__(self, selected: frozenset[str], history: Iterable[BaseMessage] = ()) -> None:
        self._selected = selected
        self._open: dict[str, str] = {}
        self._seen: set[str] = set()
        self._replayed = {
            call["id"]
            for message in history
            if selected and isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        self._read: set[str] = set()

    def read(self, update: Any) -> Iterator[ServerToolCalled | ServerToolReturned]:
        """Yield what a completed update of the root graph says about selected tools.

        Raises:
            RunError: A call has no id, or an id that was used before.
        """
        for message in _messages(update):
            if message.id in self._read:
                continue  # a node that is a graph itself returns all messages, the earlier ones too
            if message.id is not None:
                self._read.add(message.id)
            if isinstance(message, AIMessage):
                yield from self._calls(message)
            elif isinstance(message, ToolMessage) and message.tool_call_id in self._open:
                del self._open[message.tool_call_id]
                failed = message.status == "error"
                yield ServerToolReturned(
                    message.tool_call_id, output_text(message.content), failed=failed
                )

    def close(self) -> None:
        """Check that every call has its result.

        Raises:
            RunError: One has not.
        """
        if self._open:
            msg = (
                f"the server tool '{next(iter(self._open.values()))}' was called and gave no result"
            )
            raise RunError(msg)

    def _calls(self, message: AIMessage) -> Iterator[ServerToolCalled]:
        for call in message.tool_calls:
            name, call_id = call["name"], call["id"]
            if name not in self._selected or call_id in self._replayed:
                continue
            if not call_id or call_id in self._seen:
                msg = f"the graph emitted the call id '{call_id}' of server tool '{name}' twice, or left it out"
                raise RunError(msg)
            self._seen.add(call_id)
            self._open[call_id] = name
            yield ServerToolCalled(call_id, name, tool_input(name, call["args"]))


def tool_input(name: str, args: dict[str, Any]) -> str:
    """Return the free-form input of a call: its only string argument, else all arguments as JSON.

    Raises:
        RunError: The arguments are no JSON.
    """
    if len(args) == 1:
        value = next(iter(args.values()))
        if isinstance(value, str):
            return value
    return arguments_text(name, args)


def output_text(content: Any) -> str:
    """Return a tool's result as text: a string, or the text of its blocks."""
    if isinstance(content, str):
        return content
    return "".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    # LangChain's custom_tool wraps its result in a block of this type.
    key = "output" if block.get("type") == "custom_tool_call_output" else "text"
    return str(block.get(key) or "")


def _messages(update: Any) -> Iterator[BaseMessage]:
    """Yield the messages of an update: node name → state update, whose values are messages or lists of them."""
    if not isinstance(update, dict):
        return
    for state in update.values():
        for part in state if isinstance(state, list) else [state]:
            values = part.values() if isinstance(part, dict) else [part]
            for value in values:
                for message in value if isinstance(value, list) else [value]:
                    if isinstance(message, BaseMessage):
                        yield message
