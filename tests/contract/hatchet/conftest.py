from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from hatchet_sdk import ClientConfig, Hatchet
from langgraph.checkpoint.memory import InMemorySaver
from openai import AsyncOpenAI

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe
from langgraph_openai_serve.integrations.hatchet import (
    HatchetBackgroundBackend,
    create_hatchet_task,
)
from support.asking import client_for
from support.hatchet_worker import graphs
from support.observing import becomes
from support.pausing import SCOPE_HEADER
from support.programs import ROOT, Program, running
from tools.hatchet import HatchetEngine, hatchet_engine
from tools.hatchet_programs import build_hatchet, hatchet_dir
from tools.postgres import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def hatchet_postgres(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A database server that only the engine uses, so that its faults are nobody else's."""
    del postgres  # skips or fails where PostgreSQL is not installed
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def hatchet_programs() -> Path:
    """The engine's programs; skipped where they were never built, which CI does."""
    if not os.environ.get("CI") and not hatchet_dir().exists():
        builds = "python -m tools.hatchet_programs (in tests/)"
        needs = "" if shutil.which("go") else ", which takes Go"
        pytest.skip(f"the Hatchet engine is not built: {builds}{needs}")
    return build_hatchet()


@pytest.fixture(scope="session")
def hatchet(hatchet_programs: Path, hatchet_postgres: PostgresServer) -> Iterator[HatchetEngine]:
    """A Hatchet engine."""
    with hatchet_engine(hatchet_programs, hatchet_postgres) as engine:
        yield engine


@dataclass
class Platform:
    """An engine, a task of its own name, and the processes around it."""

    engine: HatchetEngine
    task: str
    dsn: str
    log_path: Path

    def log(self) -> list[str]:
        """Return what the graphs did, in all workers."""
        return self.log_path.read_text().splitlines() if self.log_path.exists() else []

    def client(self) -> Hatchet:
        """A client of the engine."""
        ports = self.engine.ports
        config = ClientConfig(
            token=self.engine.token,
            host_port=f"127.0.0.1:{ports['grpc']}",
            server_url=f"http://127.0.0.1:{ports['api']}",
            tls_config={"strategy": "none"},
        )
        return Hatchet(config=config)

    @asynccontextmanager
    async def api(self, task: str | None = None) -> AsyncIterator[AsyncOpenAI]:
        """One API process's application, without a process of its own."""
        hatchet = self.client()
        backend = HatchetBackgroundBackend(
            create_hatchet_task(hatchet, name=task or self.task), hatchet.runs
        )
        server = LanggraphOpenaiServe(
            registry=GraphRegistry(graphs(self.log_path, InMemorySaver())),
            checkpoint_scope=lambda request: request.headers.get(SCOPE_HEADER, "shared"),
            background=backend,
        ).bind_openai_api()
        async with client_for(server.app) as client:
            yield client

    @contextmanager
    def worker(self, **env: str) -> Iterator[Program]:
        """Run one worker, until the block ends."""
        environment = {
            **self.engine.client_environment(),
            "PYTHONPATH": str(ROOT / "tests"),
            "TOKENIZERS_PARALLELISM": "false",
            **env,
        }
        command = [sys.executable, "-m", "support.hatchet_worker", self.task, self.dsn]
        with running(*command, str(self.log_path), cwd=ROOT, env=environment) as program:
            yield program

    async def active(self, workers: int = 1) -> None:
        """Wait until so many workers of this task take runs."""
        hatchet = self.client()

        async def are_active() -> bool:
            listed = await hatchet.workers.aio_list()
            names = [
                one.name
                for one in listed.rows or []
                if self.task in one.name and one.status == "ACTIVE"
            ]
            return len(names) >= workers

        await becomes(are_active, 60, step=0.2)


@pytest.fixture
def platform(hatchet: HatchetEngine, postgres: PostgresServer, tmp_path: Path) -> Platform:
    """Surroundings of one test; its task's name is its own."""
    name = f"t{uuid4().hex[:12]}"
    return Platform(hatchet, name, postgres.create_database(name), tmp_path / "log")
