"""The worker process: runs the jobs. `python worker.py`."""

from collections.abc import AsyncGenerator

from graphs import registry
from hatchet_sdk import Hatchet

from langgraph_openai_serve import GraphRegistry
from langgraph_openai_serve.integrations.hatchet import create_hatchet_task


async def lifespan() -> AsyncGenerator[GraphRegistry, None]:
    # Open database pools here, where the graphs run, and build the registry on them.
    yield registry


if __name__ == "__main__":
    hatchet = Hatchet()
    worker = hatchet.worker(
        name="background-agent-worker",
        slots=8,
        workflows=[create_hatchet_task(hatchet)],
        lifespan=lifespan,
    )
    worker.start()
