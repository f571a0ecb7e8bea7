"""`FencedPostgresSaver`: LangGraph's PostgreSQL checkpointer, where a run writes only while it holds its lease.

The lease's row is looked at inside the transaction of the write, and stays locked until it is committed. So a process that
stood still between asking and writing cannot write, and nobody can take the run over in the middle of a write.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_openai_serve.errors import LeaseLost
from langgraph_openai_serve.integrations.postgres import lease_rows
from langgraph_openai_serve.integrations.postgres.connections import Connection, Pool
from langgraph_openai_serve.ports.coordinator import current_lease
from langgraph_openai_serve.ports.observer import LeaseWrite, RunObserver, SilentObserver

OPERATION_SECONDS: Final = 30.0
STALLED: Final = "SET LOCAL idle_in_transaction_session_timeout = '10s'"
"""A process that stands still in the middle of a write must not keep the row from whoever comes after it."""


class FencedPostgresSaver(AsyncPostgresSaver):
    """Every operation has a connection of its own; a write of a run with a lease is fenced by it.

    Args:
        pool: The checkpoints' pool. The leases must be in the same database.
        observer: Told about refused writes.
        seconds: How long an operation may take; a database that does not answer raises `TimeoutError`.
    """

    def __init__(
        self, pool: Pool, observer: RunObserver | None = None, *, seconds: float = OPERATION_SECONDS
    ) -> None:
        super().__init__(pool)
        self._pool = pool
        self._seconds = seconds
        self._observer: RunObserver = observer or SilentObserver()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint."""
        async with self._connection() as connection:
            return await AsyncPostgresSaver(connection, serde=self.serde).aget_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint.

        Raises:
            LeaseLost: The run has lost its lease; nothing is stored.
        """
        async with self._fenced(LeaseWrite.CHECKPOINT) as saver:
            return await saver.aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote.

        Raises:
            LeaseLost: The run has lost its lease; nothing is stored.
        """
        async with self._fenced(LeaseWrite.WRITES) as saver:
            await saver.aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread.

        Raises:
            LeaseLost: The run has lost its lease; nothing is deleted.
        """
        async with self._fenced(LeaseWrite.DELETE) as saver:
            await saver.adelete_thread(thread_id)

    @asynccontextmanager
    async def _fenced(self, write: LeaseWrite) -> AsyncGenerator[AsyncPostgresSaver, None]:
        """Give a saver inside a transaction that the current lease allows."""
        lease = current_lease.get()
        async with self._connection() as connection, connection.transaction():
            if lease is not None:
                await connection.execute(STALLED)
                held = await connection.execute(
                    lease_rows.FENCE, {"key": lease.key.digest, "token": lease.token}
                )
                if held.rowcount == 0:
                    self._observer.lease_write_refused(lease.key.model, write)
                    raise LeaseLost(lease.key.digest)
            yield AsyncPostgresSaver(connection, serde=self.serde)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Connection, None]:
        async with asyncio.timeout(self._seconds), self._pool.connection() as connection:
            yield connection
