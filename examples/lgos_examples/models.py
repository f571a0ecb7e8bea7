"""A chat model without a network: it streams a text word by word, as a real model would."""
# ruff: noqa: ARG002 - a chat model implements LangChain's whole call signature

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


class StoryModel(BaseChatModel):
    """Tells a short story about the last message, each word after a pause."""

    pause_seconds: float = 0.05

    @property
    def _llm_type(self) -> str:
        return "story"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        words = list(story(messages[-1].text))
        message = AIMessage("".join(words), usage_metadata=usage(messages, words))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        words = list(story(messages[-1].text))
        for word in words:
            await asyncio.sleep(self.pause_seconds)
            chunk = ChatGenerationChunk(message=AIMessageChunk(word))
            if run_manager:
                await run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
        yield ChatGenerationChunk(
            message=AIMessageChunk("", usage_metadata=usage(messages, words), chunk_position="last")
        )


def story(topic: str) -> Iterator[str]:
    subject = " ".join(topic.split()[:6]).strip(" .!?") or "nothing in particular"
    text = (
        f"Once upon a time somebody asked about {subject}. Nobody knew the answer, so they built a"
        " graph: one node to think, one node to write. It thought for a while and then it wrote"
        " this. The end."
    )
    return iter(re.findall(r"\S+\s*", text))


def usage(messages: list[BaseMessage], words: list[str]) -> UsageMetadata:
    """Counts words: good enough for a story."""
    read = sum(len(message.text.split()) for message in messages)
    return UsageMetadata(
        input_tokens=read, output_tokens=len(words), total_tokens=read + len(words)
    )
