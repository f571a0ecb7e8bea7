from __future__ import annotations

import asyncio
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import (
    ChatGeneration,
    ChatGenerationChunk,
    Generation,
    GenerationChunk,
    LLMResult,
)

from langgraph_openai_serve.run.callbacks import TextHandler, UsageHandler

USAGE = UsageMetadata(input_tokens=1, output_tokens=2, total_tokens=3)


def chunk(text: str) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=text))


def test_usage_is_taken_from_assistant_messages_that_report_it() -> None:
    handler = UsageHandler()
    generations = [
        Generation(text="plain"),
        ChatGeneration(message=HumanMessage("q")),
        ChatGeneration(message=AIMessage(content="a")),
        ChatGeneration(message=AIMessage(content="a", usage_metadata=USAGE)),
    ]
    handler.on_llm_end(LLMResult(generations=[generations]))

    assert handler.reports == [USAGE]


async def test_text_of_streamed_models_is_passed_on() -> None:
    seen: list[str] = []
    handler = TextHandler(seen.append)
    run = uuid4()
    handler.on_llm_new_token("a", chunk=chunk("a"), run_id=run)
    handler.on_llm_new_token("", chunk=chunk(""), run_id=run)
    handler.on_llm_new_token("b", chunk=chunk("b"), run_id=run, tags=["nostream"])
    handler.on_llm_new_token("c", chunk=chunk("c"), run_id=run, tags=["other"])
    handler.on_llm_new_token("d", chunk=GenerationChunk(text="d"), run_id=run)
    handler.on_llm_new_token("e", chunk=None, run_id=run)

    assert seen == ["a", "c"]
    assert handler.tap_output_iter(run, seen) is seen
    assert handler.tap_output_aiter(run, seen) is seen


async def test_text_of_a_model_in_a_thread_arrives_on_the_loop_in_order() -> None:
    seen: asyncio.Queue[tuple[str, asyncio.Task[None] | None]] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def emit(text: str) -> None:
        assert asyncio.get_running_loop() is loop
        seen.put_nowait((text, None))

    handler = TextHandler(emit)

    def talk() -> None:
        for text in "abc":
            handler.on_llm_new_token(text, chunk=chunk(text), run_id=uuid4())

    await asyncio.to_thread(talk)
    async with asyncio.timeout(2):
        assert "".join([(await seen.get())[0] for _ in range(3)]) == "abc"
