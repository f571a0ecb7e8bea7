"""pgbouncer in transaction mode in front of a test's PostgreSQL server: after each transaction a client may get another connection."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from house.serving import free_port
from tools.postgres import SUPERUSER, PostgresServer
from tools.processes import kill, wait_for

ADMIN_DATABASE = "pgbouncer"
POOL_SIZE = 3


def program() -> Path | None:
    """Return pgbouncer, or `None` when it is not installed."""
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class Pooler:
    """A running pgbouncer."""

    port: int

    def dsn(self, database: str) -> str:
        """Return the connection string of a database behind it."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/{database}"

    def show(self, what: str) -> list[dict[str, Any]]:
        """Return one of pgbouncer's own tables, such as `pools`."""
        with psycopg.connect(
            self.dsn(ADMIN_DATABASE), autocommit=True, row_factory=dict_row
        ) as connection:
            return psycopg.ClientCursor(connection, row_factory=dict_row).execute(f"SHOW {what}".encode()).fetchall()  # fmt: skip


@contextmanager
def pooler(server: PostgresServer) -> Iterator[Pooler]:
    """Run pgbouncer in front of `server` until the block ends.

    Raises:
        FileNotFoundError: pgbouncer is not installed.
    """
    found = program()
    if found is None:
        msg = "pgbouncer is not installed: apt-get install pgbouncer"
        raise FileNotFoundError(msg)
    folder = Path(tempfile.mkdtemp(prefix="lgos-pgbouncer-"))
    made = Pooler(free_port())
    (folder / "pgbouncer.ini").write_text(
        "[databases]\n"
        f"* = host=127.0.0.1 port={server.port} user={SUPERUSER}\n"
        "[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {made.port}\nunix_socket_dir =\n"
        "auth_type = any\n"
        f"admin_users = {SUPERUSER}\n"
        f"pool_mode = transaction\ndefault_pool_size = {POOL_SIZE}\nmax_client_conn = 500\n"
    )
    command = [str(found), str(folder / "pgbouncer.ini")]
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *command]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(lambda: _answers(made), 10, "pgbouncer to answer")
        yield made
    finally:
        kill(process.pid)
        process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _answers(made: Pooler) -> bool:
    try:
        made.show("version")
    except psycopg.OperationalError:
        return False
    return True
