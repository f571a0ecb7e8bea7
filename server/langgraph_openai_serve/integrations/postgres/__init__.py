"""Run leases, checkpoints and stores in PostgreSQL (extra `postgres`)."""

from langgraph_openai_serve.integrations.postgres.coordinator import (
    DEFAULT_TTL,
    PostgresRunCoordinator,
)
from langgraph_openai_serve.integrations.postgres.paused import PausedRun, PausedRuns
from langgraph_openai_serve.integrations.postgres.platform import open_platform
from langgraph_openai_serve.integrations.postgres.saver import FencedPostgresSaver
from langgraph_openai_serve.integrations.postgres.watch import watched_pauses

__all__ = [
    "DEFAULT_TTL",
    "FencedPostgresSaver",
    "PausedRun",
    "PausedRuns",
    "PostgresRunCoordinator",
    "open_platform",
    "watched_pauses",
]
