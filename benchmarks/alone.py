"""LangGraph without a server: 500 slow runs that start together in one process; prints the median first token, in ms."""

from __future__ import annotations

import asyncio
import gc
import time

import uvloop
from graphs import build
from langchain_core.messages import HumanMessage

RUNS = 500
ROUNDS = 4


async def first_tokens() -> list[float]:
    graph = build()["slow"]
    started = time.perf_counter()

    async def one() -> float:
        taken = 0.0
        async for _ in graph.astream({"messages": [HumanMessage("hello")]}, stream_mode="messages"):
            taken = taken or time.perf_counter() - started
        return taken

    return sorted(await asyncio.gather(*(one() for _ in range(RUNS))))


async def main() -> None:
    await first_tokens()  # the first round warms up
    gc.collect()
    gc.freeze()
    gc.set_threshold(20000, 20, 50)
    medians = [(await first_tokens())[RUNS // 2] for _ in range(ROUNDS)]
    print(f"{min(medians) * 1000:.0f}")


if __name__ == "__main__":
    uvloop.run(main())
