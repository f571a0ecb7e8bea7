"""A PostgreSQL server of a test's own: Debian's programs, a temporary folder, a free port, and faults on demand.

The programs refuse to run as root, so root runs them as the user `postgres`. Durability is off but for tests that restart
the server, which wait for a clean shutdown.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from house.serving import free_port

SUPERUSER = "admin"
LOOPBACK = "127.0.0.1"
OPTIONS = (
    "-c timezone=UTC -c max_connections=200 -c shared_buffers=64MB"
    " -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c log_min_messages=warning"
)


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, or `None` when it is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    return next(iter(folders), Path(found).resolve().parent if found else None)


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A server that runs until its context ends."""

    programs: Path
    folder: Path
    port: int
    host: str = LOOPBACK

    def dsn(self, database: str = "postgres") -> str:
        """Return the connection string of a database."""
        return f"postgresql://{SUPERUSER}@{self.host}:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run one statement as superuser and return its rows."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return [] if cursor.description is None else cursor.fetchall()

    def create_database(self, name: str) -> str:
        """Create a database and return its connection string."""
        self.execute(f'CREATE DATABASE "{name}"')
        return self.dsn(name)

    def terminate_backends(self, application: str, database: str) -> int:
        """End all connections of an application, as an administrator or a network does."""
        ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND datname = %s"
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            return len(connection.execute(ending, (application, database)).fetchall())

    def backends(self, application: str, database: str) -> int:
        """Return how many connections an application has."""
        counting = "SELECT FROM pg_stat_activity WHERE application_name = %s AND datname = %s"
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            return len(connection.execute(counting, (application, database)).fetchall())

    def start(self) -> None:
        """Start the server and wait until it answers."""
        sockets = f"-p {self.port} -c listen_addresses={self.host} -c unix_socket_directories={self.folder}"
        log = self.folder / "log"
        self._run("pg_ctl", "-w", "-s", "-l", str(log), "-o", f"{OPTIONS} {sockets}", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: `fast` ends connections, `immediate` is a crash."""
        self._run("pg_ctl", "-w", "-s", "-m", mode, "stop")

    def restart(self) -> None:
        """Stop and start the server; every connection ends."""
        self.stop()
        self.start()

    def initialise(self) -> None:
        """Make the data folder."""
        self._run(
            "initdb", "-U", SUPERUSER, "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"
        )
        if self.host != LOOPBACK:
            with (self.folder / "data/pg_hba.conf").open("a") as access:
                access.write("host all all all trust\n")

    def pause(self) -> None:
        """Let the server stand still, like a machine that hangs; `proceed` ends it."""
        for pid in self._processes():
            os.kill(pid, signal.SIGSTOP)

    def proceed(self) -> None:
        """Let the server go on."""
        for pid in self._processes():
            os.kill(pid, signal.SIGCONT)

    def _processes(self) -> list[int]:
        main = int((self.folder / "data/postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.folder / "data"), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )  # fmt: skip
        if done.returncode:
            log = self.folder / "log"
            tail = log.read_text()[-2000:] if log.exists() else ""
            msg = f"{program} failed:\n{done.stdout}\n{tail}"
            raise RuntimeError(msg)


@contextmanager
def postgres_server(host: str = LOOPBACK) -> Iterator[PostgresServer]:
    """Run a server until the block ends.

    Args:
        host: The address to listen on; another than the loopback one lets anybody in who reaches it.

    Raises:
        FileNotFoundError: PostgreSQL is not installed.
    """
    found = programs()
    if found is None:
        msg = "PostgreSQL is not installed: apt-get install postgresql"
        raise FileNotFoundError(msg)
    folder = Path(tempfile.mkdtemp(prefix="lgos-postgres-"))
    try:
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        server = PostgresServer(found, folder, free_port(), host)
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
