"""How connections to PostgreSQL are made, so that they also work behind a pooler in transaction mode.

No session state, no prepared statements, no `options`: a pooler may give every transaction another server connection. A
peer that vanished without a word is noticed within seconds.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_openai_serve.errors import ConfigurationError

CONNECT_SECONDS: Final = 5
"""How long one attempt to connect may take."""

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]


class _Pool(Pool):
    """Gives no connection to a task that was cancelled.

    The pool waits with `asyncio.wait_for`, which before Python 3.12 loses a cancellation that comes together with the
    connection: a run would go on for a client that has left.
    """

    async def getconn(self, timeout: float | None = None) -> Connection:  # noqa: ASYNC109 - the signature of the pool
        task = asyncio.current_task()
        before = 0 if task is None else task.cancelling()
        connection = await super().getconn(timeout)
        if task is not None and task.cancelling() > before:
            await self.putconn(connection)
            raise asyncio.CancelledError
        return connection


def pool_of(
    dsn: str, *, name: str, min_size: int, max_size: int, timeout: float, check: bool = False
) -> Pool:
    """Return a pool that is not open yet.

    Args:
        dsn: PostgreSQL's connection string.
        name: For its logs, and as `application_name`.
        min_size: Connections that stay open.
        max_size: Most connections.
        timeout: Seconds that somebody waits for a connection.
        check: Whether a connection is tried before it is given out.

    Raises:
        ConfigurationError: The connection string cannot be read.
    """
    return _Pool(
        dsn,
        connection_class=AsyncConnection[DictRow],
        kwargs=_arguments(dsn, name),
        min_size=min_size,
        max_size=max_size,
        timeout=timeout,
        check=AsyncConnectionPool.check_connection if check else None,
        reconnect_timeout=timeout,
        name=name,
        open=False,
    )


async def connect(dsn: str, *, name: str) -> Connection:
    """Return one connection, made as those of the pools are."""
    return await AsyncConnection[DictRow].connect(dsn, **_arguments(dsn, name))


def _arguments(dsn: str, name: str) -> dict[str, Any]:
    """Return what connections are made with; what the connection string says wins."""
    try:
        given = conninfo_to_dict(dsn)
    except Exception as error:
        msg = f"the PostgreSQL connection string cannot be read: {str(error).strip()}"
        raise ConfigurationError(msg) from error
    arguments: dict[str, Any] = {
        "application_name": name,
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": 10,
        "keepalives_interval": 3,
        "keepalives_count": 3,
        "tcp_user_timeout": 15000,
    }
    ours = {key: value for key, value in arguments.items() if key not in given}
    return {"autocommit": True, "prepare_threshold": None, "row_factory": dict_row, **ours}
