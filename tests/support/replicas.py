"""Several `lgos serve` processes of one model over one database, as a Deployment's pods are."""

from __future__ import annotations

import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from openai import AsyncOpenAI

from house.serving import free_port
from lgos_contract.registry import ModelState, RegistryEntry, dump_entry
from support.programs import LGOS, Program, running

TTL_SECONDS = 2
WORK = '''
"""Works for as long as it is told, and asks before it does when the text says so."""

import asyncio
from pathlib import Path

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

LOG = Path(__file__).with_name("starts")


async def prepare(state):
    with LOG.open("a") as log:
        log.write("prepared\\n")
    return {}


async def work(state):
    text = state["messages"][-1].text
    if text == "ask":
        text = interrupt("How long?")
    with LOG.open("a") as log:
        log.write(f"worked {text}\\n")
    await asyncio.sleep(float(text))
    return {"messages": [AIMessage(f"worked for {text}")]}


builder = StateGraph(MessagesState)
builder.add_node("prepare", prepare)
builder.add_node("work", work)
builder.add_edge(START, "prepare")
builder.add_edge("prepare", "work")
graph = builder.compile()
'''


@dataclass
class Replica:
    """One process."""

    program: Program
    client: AsyncOpenAI
    metrics_port: int
    url: str

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels."""
        address = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(address, timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        values = [
            line.rpartition(" ")[2] for line in lines if line.startswith((name + "{", name + " "))
        ]
        return sum(map(float, values))


class Deployment:
    """The model `work`, and as many processes of it as a test wants.

    Args:
        folder: Holds the graph, the registry and the log of what the graph did.
        dsn: The database.
    """

    def __init__(
        self,
        folder: Path,
        dsn: str,
        *,
        features: tuple[str, ...] = ("interrupts",),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._env = dict(env or {})
        self.folder = folder
        self._dsn = dsn
        (folder / "work_graphs.py").write_text(WORK)
        entry = RegistryEntry(
            id="work", namespace="team-a", name="work", graph="work_graphs:graph", description="Works.",
            features=features, base_url="http://work-api.team-a.svc:8000/v1",
            state=ModelState.SERVING, created=1, owned_by="team-a", interrupt_retention_seconds=3600,
        )  # fmt: skip
        (folder / "registry").mkdir()
        (folder / "registry/work.json").write_text(dump_entry(entry))

    def log(self) -> list[str]:
        """Return what the graph did, in all processes."""
        path = self.folder / "starts"
        return path.read_text().splitlines() if path.exists() else []

    @asynccontextmanager
    async def replica(self, **env: str) -> AsyncIterator[Replica]:
        """Run one more process, ready to serve."""
        async with self.starting(**env) as replica:
            replica.program.says("serving work")
            yield replica

    @asynccontextmanager
    async def starting(self, **env: str) -> AsyncIterator[Replica]:
        """Run one more process."""
        port, metrics_port = free_port(), free_port()
        settings = self._settings(port, metrics_port)
        with running(LGOS, "serve", cwd=self.folder, env=settings | env) as program:
            url = f"http://127.0.0.1:{port}/v1"
            async with AsyncOpenAI(
                base_url=url, api_key="unused", max_retries=0, timeout=60
            ) as client:
                yield Replica(program, client, metrics_port, url)

    @contextmanager
    def worker(self, **env: str) -> Iterator[Program]:
        """Run one `lgos worker`, ready to take runs."""
        settings = self.environment()
        with running(LGOS, "worker", cwd=self.folder, env=settings | env) as program:
            program.says("in the background")
            yield program

    def environment(self) -> dict[str, str]:
        """Return the environment of a process on free ports."""
        return self._settings(free_port(), free_port())

    def _settings(self, port: int, metrics_port: int) -> dict[str, str]:
        return {
            "LGOS_MODEL": "work",
            "LGOS_REGISTRY_DIR": str(self.folder / "registry"),
            "LGOS_HOST": "127.0.0.1",
            "LGOS_PORT": str(port),
            "LGOS_METRICS_PORT": str(metrics_port),
            "LGOS_TERMINATION_LOG": str(self.folder / "termination-log"),
            "LGOS_POSTGRES_DSN": self._dsn,
            "LGOS_LEASE_TTL_SECONDS": str(TTL_SECONDS),
            **self._env,
        }
