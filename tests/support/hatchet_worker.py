"""A Hatchet worker of graphs that tell a file what they do: `python -m support.hatchet_worker TASK DSN LOG`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

from hatchet_sdk import Hatchet
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_openai_serve import GraphConfig, GraphFeature, GraphRegistry
from langgraph_openai_serve.integrations.hatchet import create_hatchet_task
from langgraph_openai_serve.integrations.postgres import open_platform

BACKGROUND = {GraphFeature.BACKGROUND}
BOTH = {GraphFeature.BACKGROUND, GraphFeature.INTERRUPTS}
LARGE = 5 * 1024 * 1024
SECRET = "db password=hunter2"


def graphs(log: Path, checkpointer: Any = None) -> dict[str, GraphConfig]:
    """The models; API processes register them too, and never run them in the background."""

    def note(text: str) -> None:
        with log.open("a") as file:
            file.write(f"{text}\n")

    def config(node: Any, features: set[GraphFeature]) -> GraphConfig:
        graph = StateGraph(MessagesState)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        saver = checkpointer if GraphFeature.INTERRUPTS in features else None
        return GraphConfig(
            graph=graph.compile(checkpointer=saver), description="A fixture.", features=features
        )

    async def work(state: MessagesState) -> dict[str, Any]:
        text = state["messages"][-1].text
        seconds, _, label = text.partition(" ")
        note(f"process {os.getpid()} {label or seconds}")
        note(f"started {label or seconds}")
        for _ in range(int(float(seconds) * 10)):
            await asyncio.sleep(0.1)
        note(f"ended {label or seconds}")
        return {"messages": [AIMessage("ok")]}

    async def fails(_state: MessagesState) -> dict[str, Any]:
        raise ValueError(SECRET)

    async def large(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("x" * LARGE)]}

    async def ask(_state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"question": "Go?"})
        note(f"answered {answer}")
        await asyncio.sleep(float(answer))
        return {"messages": [AIMessage(f"got:{answer!r}")]}

    models = {
        "bg_work": config(work, BACKGROUND),
        "bg_fails": config(fails, BACKGROUND),
        "bg_large": config(large, BACKGROUND),
    }
    return models | ({"bg_ask": config(ask, BOTH)} if checkpointer is not None else {})


def main(task: str, dsn: str, log: str) -> None:
    """Run the worker until a signal."""

    async def lifespan() -> AsyncGenerator[GraphRegistry, None]:
        async with open_platform(dsn, ttl=timedelta(seconds=2)) as platform:
            yield GraphRegistry(
                graphs(Path(log), platform.checkpointer), run_coordinator=platform.coordinator
            )

    hatchet = Hatchet()
    execution = timedelta(seconds=float(os.environ.get("TEST_EXECUTION_SECONDS", "120")))
    schedule = timedelta(seconds=float(os.environ.get("TEST_SCHEDULE_SECONDS", "60")))
    worker = hatchet.worker(
        name=f"worker-{task}-{os.getpid()}",
        slots=4,
        workflows=[
            create_hatchet_task(
                hatchet, name=task, execution_timeout=execution, schedule_timeout=schedule
            )
        ],
        lifespan=lifespan,
    )
    worker.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
