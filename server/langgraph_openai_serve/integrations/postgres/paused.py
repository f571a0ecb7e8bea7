"""`PausedRuns`: the runs that wait for answers, as the checkpoints' table shows them.

A paused run is a thread whose metadata names its model; how long it may wait stands beside it. Only the sweep and metrics
look here: a request finds its own thread by its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from langgraph_openai_serve.integrations.postgres import lease_rows
from langgraph_openai_serve.integrations.postgres.connections import Pool

_RUNS: Final = """
    SELECT thread_id, max(metadata->>'lgos_model') AS model,
        extract(epoch FROM now() - max((checkpoint->>'ts')::timestamptz))::float AS age,
        max((metadata->>'lgos_retention_seconds')::float) AS retention
    FROM checkpoints
    WHERE metadata ? 'lgos_model' AND (%(thread)s::text IS NULL OR thread_id = %(thread)s)
    GROUP BY thread_id
    HAVING %(default)s::float IS NULL
        OR extract(epoch FROM now() - max((checkpoint->>'ts')::timestamptz))
            > coalesce(max((metadata->>'lgos_retention_seconds')::float), %(default)s)
    ORDER BY age DESC
    LIMIT %(limit)s
"""
_BY_MODEL: Final = """
    SELECT metadata->>'lgos_model' AS model, count(DISTINCT thread_id) AS runs,
        extract(epoch FROM now() - min((checkpoint->>'ts')::timestamptz))::float AS oldest
    FROM checkpoints
    WHERE metadata->>'lgos_model' = ANY(%(models)s)
    GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class PausedRun:
    """One thread that waits."""

    thread_id: str
    model: str
    age: timedelta
    """Since its checkpoint was made."""
    retention: timedelta | None
    """How long its model keeps it."""

    def expired(self, default: timedelta) -> bool:
        """Whether nobody needs to wait for an answer any more.

        Args:
            default: Retention of a run whose model named none.
        """
        return self.age > (default if self.retention is None else self.retention)


class PausedRuns:
    """The paused runs of a database.

    Args:
        pool: The checkpoints' pool.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def expired(self, default: timedelta, *, limit: int = 1000) -> list[PausedRun]:
        """Return abandoned runs, the oldest first.

        Args:
            default: Retention of a run whose model named none.
            limit: Most runs.
        """
        return await self._runs(default=default.total_seconds(), limit=limit)

    async def find(self, thread_id: str) -> PausedRun | None:
        """Return one paused run, or `None` when there is none."""
        found = await self._runs(thread=thread_id)
        return found[0] if found else None

    async def by_model(self, models: Sequence[str]) -> dict[str, tuple[int, timedelta]]:
        """Return how many runs of each model wait, and the age of the oldest; nothing for models without any."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(_BY_MODEL, {"models": list(models)})
            rows = await cursor.fetchall()
        return {row["model"]: (row["runs"], timedelta(seconds=row["oldest"])) for row in rows}

    async def forget_expired_leases(self) -> int:
        """Delete lease rows that expired more than a day ago, and return how many."""
        async with self._pool.connection() as connection:
            return (await connection.execute(lease_rows.EXPIRED)).rowcount

    async def _runs(
        self, *, thread: str | None = None, default: float | None = None, limit: int = 1
    ) -> list[PausedRun]:
        parameters = {"thread": thread, "default": default, "limit": limit}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_RUNS, parameters)).fetchall()
        return [
            PausedRun(
                row["thread_id"],
                row["model"],
                timedelta(seconds=row["age"]),
                None if row["retention"] is None else timedelta(seconds=row["retention"]),
            )
            for row in rows
        ]
