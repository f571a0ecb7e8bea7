"""A chat model without a network. It follows a script where a real one thinks; `ChatOpenAI` and others fit in its place."""
# ruff: noqa: ARG002 - a chat model implements LangChain's whole call signature

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

Tool = dict[str, Any]
Script = Callable[[list[BaseMessage], list[Tool]], AIMessage]
"""From the messages, and the tools that may be called, to what the model says and calls."""


class ScriptedModel(BaseChatModel):
    """Says what its script says, word by word when it is streamed."""

    script: Script
    pause_seconds: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[Tool | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        functions = [convert_to_openai_tool(tool) for tool in tools]
        if tool_choice == "none":
            functions = []
        elif tool_choice not in {None, "auto", "required"}:
            functions = [each for each in functions if each["function"]["name"] == tool_choice]
        return self.bind(tools=functions, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = self.script(messages, kwargs.get("tools", []))
        message.usage_metadata = usage(messages, message.text)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        message = self.script(messages, kwargs.get("tools", []))
        for word in re.findall(r"\s*\S+\s*", message.text):
            await asyncio.sleep(self.pause_seconds)
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word))
            if run_manager:
                await run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
        calls = [
            tool_call_chunk(
                name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=i
            )
            for i, call in enumerate(message.tool_calls)
        ]
        last = AIMessageChunk(
            content="",
            tool_call_chunks=calls,
            usage_metadata=usage(messages, message.text),
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=last)


def usage(messages: list[BaseMessage], text: str) -> UsageMetadata:
    """Counts words: good enough for a script."""
    read = sum(len(message.text.split()) for message in messages)
    written = len(text.split())
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
