"""`LeaseTable`: the statements of `lease_rows` on a pool, each tried twice, since a connection may have died unnoticed."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import psycopg
from psycopg import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout

from langgraph_openai_serve.integrations.postgres import lease_rows
from langgraph_openai_serve.integrations.postgres.connections import Pool
from langgraph_openai_serve.ports.coordinator import RunKey

logger = logging.getLogger(__name__)

CALL_SECONDS: Final = 5.0
"""How long one try of a statement may take, with its connection."""
MARGIN: Final = 1 / 6
"""Part of the ttl by which a holder gives up earlier than others may take over."""
LOST_CONNECTION: Final = (OperationalError, InterfaceError)
FAILURES: Final = (psycopg.Error, TimeoutError, OSError)
"""Whatever a statement can end with, connections included."""


@dataclass(frozen=True, slots=True)
class Granted:
    """A row that is this process's now."""

    key: str
    token: int
    deadline: float
    """`time.monotonic()` until which it can be relied on."""
    taken_over: bool
    """Whether it was somebody's who let it expire."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """What became of this process's rows, as keys and tokens."""

    deadline: float
    renewed: frozenset[tuple[str, int]]
    skipped: frozenset[tuple[str, int]]
    """Still this process's, but a write held them; they were not renewed."""


class LeaseTable:
    """One process's view of the lease rows.

    Args:
        pool: Where the rows are.
        ttl: How long a row lives without a renewal.
    """

    def __init__(self, pool: Pool, ttl: timedelta) -> None:
        self._pool = pool
        self._ttl = ttl
        self._holder = uuid.uuid4()

    async def set_up(self) -> None:
        """Make the table, unless it is there; safe when several processes do so at once."""
        [row] = await self._rows(lease_rows.EXISTS, {})
        if row["made"]:
            return
        async with self._pool.connection() as connection, connection.transaction():
            for statement in lease_rows.SETUP:
                await connection.execute(statement)

    async def acquire(self, wanted: Sequence[RunKey]) -> dict[str, Granted]:
        """Take every row that is free, and return those by key; no key may occur twice."""
        parameters = {
            "holder": self._holder,
            "ttl": self._ttl,
            "keys": [key.digest for key in wanted],
            "models": [key.model for key in wanted],
        }
        deadline = self._deadline()
        rows = await self._rows(lease_rows.ACQUIRE, parameters)
        return {
            row["key"]: Granted(row["key"], row["token"], deadline, row["taken_over"])
            for row in rows
        }

    async def renew(self) -> Renewal:
        """Prolong every row of this process that has not expired."""
        deadline = self._deadline()
        rows = await self._rows(lease_rows.RENEW, {"holder": self._holder, "ttl": self._ttl})
        renewed = frozenset((row["key"], row["token"]) for row in rows if row["renewed"])
        skipped = frozenset((row["key"], row["token"]) for row in rows if not row["renewed"])
        return Renewal(deadline, renewed, skipped)

    async def release(self, rows: Sequence[tuple[str, int]]) -> None:
        """Free rows, unless somebody else has them meanwhile."""
        keys, tokens = [key for key, _ in rows], [token for _, token in rows]
        await self._rows(lease_rows.RELEASE, {"keys": keys, "tokens": tokens})

    async def release_all(self) -> None:
        """Free every row of this process."""
        await self._rows(lease_rows.RELEASE_ALL, {"holder": self._holder})

    def _deadline(self) -> float:
        """Taken before the statement is sent: the row expires later than this process thinks."""
        return time.monotonic() + self._ttl.total_seconds() * (1 - MARGIN)

    async def _rows(self, statement: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            return await self._try(statement, parameters)
        except PoolTimeout:
            raise  # there is no connection to be had, so a second try would only take as long
        except LOST_CONNECTION as error:
            logger.info("trying again on another connection: %r", error)
        return await self._try(statement, parameters)

    async def _try(self, statement: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        async with (
            asyncio.timeout(CALL_SECONDS),
            self._pool.connection() as connection,
        ):
            cursor = await connection.execute(statement, parameters)
            return [] if cursor.description is None else await cursor.fetchall()
