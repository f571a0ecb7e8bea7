"""Finds out, once a process, whether text comes by callback with the installed langchain-core.

The marker that makes LangChain stream a model for a callback handler is private to langchain-core. A model of two chunks
is invoked with the handler; where its text does not arrive, runs read LangGraph's `messages` stream instead.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from langgraph_openai_serve.run.callbacks import TextHandler

logger = logging.getLogger(__name__)

CHUNKS = ("a", "b")
_known: dict[type[TextHandler], bool] = {}


class ProbeModel(BaseChatModel):
    """Streams `CHUNKS`."""

    @property
    def _llm_type(self) -> str:
        return "probe"

    def _generate(self, *_args: Any, **_kwargs: Any) -> ChatResult:
        message = AIMessage("".join(CHUNKS))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, *_args: Any, **_kwargs: Any) -> ChatResult:
        return self._generate()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for text in CHUNKS:
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text))
            if run_manager is not None:
                await run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk


async def text_comes_by_callback(handler: type[TextHandler] = TextHandler) -> bool:
    """Return whether a streaming model hands its text to `handler`; asked once a process."""
    known = _known.get(handler)
    if known is None:
        texts: list[str] = []
        await ProbeModel().ainvoke("", {"callbacks": [handler(texts.append)]})
        known = _known[handler] = tuple(texts) == CHUNKS
        if not known:
            logger.warning("langchain-core streams no text to callbacks; using the messages stream")
    return known
