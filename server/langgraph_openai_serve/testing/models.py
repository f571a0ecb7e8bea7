"""A chat model that says what it is told to, streamed or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field


class ScriptedChatModel(BaseChatModel):
    """Answers every call with the same chunks.

    Attributes:
        chunks: Pieces of the answer; a streamed call gives one message chunk each.
        usage: What the call reports, as input and output tokens; `None` reports nothing.
        response_metadata: Metadata of the finished message, such as `{"finish_reason": "length"}`.
        delay_seconds: Pause before each chunk of an asynchronous call.
        fail_after: Raises `ValueError(failure)` after this many chunks.
    """

    chunks: list[str]
    usage: tuple[int, int] | None = None
    response_metadata: dict[str, Any] = Field(default_factory=dict)
    delay_seconds: float = 0.0
    fail_after: int | None = None
    failure: str = "the scripted model fails"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.fail_after is not None:
            raise ValueError(self.failure)
        message = AIMessage(
            content="".join(self.chunks),
            usage_metadata=self._usage(),
            response_metadata=self.response_metadata,
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._pieces():
            if run_manager is not None:
                run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._pieces():
            if self.delay_seconds:
                await asyncio.sleep(self.delay_seconds)
            if run_manager is not None:
                await run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk

    def _pieces(self) -> Iterator[ChatGenerationChunk]:
        for index, text in enumerate(self.chunks):
            if index == self.fail_after:
                raise ValueError(self.failure)
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))
        if self.fail_after is not None and self.fail_after >= len(self.chunks):
            raise ValueError(self.failure)
        last = AIMessageChunk(
            content="",
            usage_metadata=self._usage(),
            response_metadata=self.response_metadata,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=last)

    def _usage(self) -> UsageMetadata | None:
        if self.usage is None:
            return None
        given, made = self.usage
        return UsageMetadata(input_tokens=given, output_tokens=made, total_tokens=given + made)
