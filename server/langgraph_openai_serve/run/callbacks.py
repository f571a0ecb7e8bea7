"""LangChain callback handlers of a run: usage of every model call, and the text of streamed ones.

Both handlers are `run_inline` and ignore everything but model calls: LangChain would otherwise hop to a thread for each
token. A model that runs in a thread (a synchronous node) calls its handlers in that thread; text is then handed to the
event loop in order.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult
from langgraph.constants import TAG_NOSTREAM

from langgraph_openai_serve.run.messages import text_of

T = TypeVar("T")

try:
    from langchain_core.tracers._streaming import _StreamingCallbackHandler as StreamingMarker
except ImportError:  # pragma: no cover - private to langchain-core, which has it today

    class StreamingMarker(Generic[T]):  # type: ignore[no-redef]  # what is left of the marker
        """Marks nothing."""


class UsageHandler(BaseCallbackHandler):
    """Collects the usage that each model call reports, whether or not the model has a name."""

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self) -> None:
        self.reports: list[UsageMetadata] = []

    def on_llm_end(self, response: LLMResult, **_kwargs: Any) -> None:
        """Keep the usage of one finished model call."""
        for generations in response.generations:
            for generation in generations:
                if isinstance(generation, ChatGeneration) and isinstance(
                    generation.message, AIMessage
                ):
                    usage = generation.message.usage_metadata
                    if usage is not None:
                        self.reports.append(usage)


class TextHandler(UsageHandler, StreamingMarker[Any]):
    """Hands every streamed piece of text to `emit`, on the event loop that made the handler.

    The marker base class makes LangChain stream a model that a node only invokes. Calls tagged `nostream` stay silent.
    """

    def __init__(self, emit: Callable[[str], None]) -> None:
        super().__init__()
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],  # noqa: ARG002 - the chunk says more
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,  # noqa: ARG002 - LangChain's interface
        parent_run_id: UUID | None = None,  # noqa: ARG002 - LangChain's interface
        tags: list[str] | None = None,
        **_kwargs: Any,
    ) -> None:
        """Pass on the text of one chunk."""
        if tags and TAG_NOSTREAM in tags:
            return
        message = getattr(chunk, "message", None)
        if not isinstance(message, AIMessageChunk):
            return
        text = text_of(message)
        if not text:
            return
        if threading.get_ident() == self._thread:
            self._emit(text)
        else:
            self._loop.call_soon_threadsafe(self._emit, text)

    def tap_output_aiter(self, run_id: UUID, output: Any) -> Any:  # noqa: ARG002 - the marker's interface
        """Return `output` unchanged."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Any) -> Any:  # noqa: ARG002 - the marker's interface
        """Return `output` unchanged."""
        return output
