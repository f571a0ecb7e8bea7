"""The graphs that every contender serves: an echo, and a fake model that streams chunks at several paces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph

BURST_CHUNKS = 200
SLOW_CHUNKS = 50
SLOW_SECONDS = 0.02
HOLD_SECONDS = 120.0
CHUNK = "token "


class PacedModel(BaseChatModel):
    """Streams equal chunks, `pause` apart; `None` means all at once."""

    count: int
    pause: float | None = None

    @property
    def _llm_type(self) -> str:
        return "paced"

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(CHUNK * self.count))])

    async def _agenerate(
        self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for _ in range(self.count):
            if self.pause is not None:
                await asyncio.sleep(self.pause)
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=CHUNK))
            if run_manager is not None:
                await run_manager.on_llm_new_token(CHUNK, chunk=chunk)
            yield chunk


def _graph(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", node)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile()


def _model_graph(model: BaseChatModel) -> Any:
    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return _graph(answer)


async def _echo(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(state["messages"][-1].content)]}


def build() -> dict[str, Any]:
    """Return all graphs by name."""
    return {
        "echo": _graph(_echo),
        "burst": _model_graph(PacedModel(count=BURST_CHUNKS)),
        "paced": _model_graph(PacedModel(count=BURST_CHUNKS, pause=0.0)),
        "hold": _model_graph(PacedModel(count=1, pause=HOLD_SECONDS)),
        "slow": _model_graph(PacedModel(count=SLOW_CHUNKS, pause=SLOW_SECONDS)),
    }
