"""A Hatchet engine of a test's own, on a PostgreSQL server of its own: started, stopped, killed, and started again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from house.serving import free_port
from tools.postgres import PostgresServer

DATABASE = "hatchet"
TENANT = "707d0855-80ab-4e1f-a156-f1c4546cbf52"
READY_SECONDS = 60.0


@dataclass
class HatchetEngine:
    """An engine with its REST API in one process."""

    programs: Path
    folder: Path
    postgres: PostgresServer
    ports: dict[str, int] = field(
        default_factory=lambda: {
            name: free_port()
            for name in ("grpc", "api", "health", "metrics", "frontend", "runtime")
        }
    )
    token: str = ""
    process: subprocess.Popen[bytes] | None = None

    def client_environment(self) -> dict[str, str]:
        """Return what a Hatchet client in a process of its own needs."""
        return {
            "HATCHET_CLIENT_TOKEN": self.token,
            "HATCHET_CLIENT_HOST_PORT": f"127.0.0.1:{self.ports['grpc']}",
            "HATCHET_CLIENT_SERVER_URL": f"http://127.0.0.1:{self.ports['api']}",
            "HATCHET_CLIENT_TLS_STRATEGY": "none",
        }

    def set_up(self) -> None:
        """Make database, keys, tenant and token."""
        self.postgres.create_database(DATABASE)
        for name in ("static", "keys"):
            (self.folder / name).mkdir()
        (self.folder / "static/index.html").touch()
        self._run("hatchet-migrate")
        self._run("hatchet-admin", "keyset", "create-local-keys", "--key-dir", str(self._keys))
        self._run("hatchet-admin", "seed")
        said = self._run(
            "hatchet-admin", "token", "create", "--name", "tests", "--tenant-id", TENANT
        )
        self.token = said.strip().splitlines()[-1]

    def start(self) -> None:
        """Start the engine and wait until it is ready."""
        with (self.folder / "engine.log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "hatchet-lite"],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                log_text = (self.folder / "engine.log").read_text()[-3000:]
                msg = f"the Hatchet engine is not ready:\n{log_text}"
                raise RuntimeError(msg)
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the engine: in good order, or killed."""
        process, self.process = self.process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(how)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End and start the engine."""
        self.stop(how)
        self.start()

    def age_worker(self, worker: str) -> None:
        """Let the engine think that it has not heard of a worker for longer than it waits."""
        aged = "UPDATE \"Worker\" SET \"lastHeartbeatAt\" = now() - interval '31 seconds' WHERE name LIKE '%{}%'"
        self.postgres.execute(aged.format(re.sub(r"[^\w-]", "", worker)), DATABASE)

    @property
    def _keys(self) -> Path:
        return self.folder / "keys"

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.ports['health']}/ready", timeout=2
            ) as answer:
                ready = bool(answer.status == 200)
            # The engine calls itself ready before its REST API listens.
            for name in ("api", "grpc"):
                socket.create_connection(("127.0.0.1", self.ports[name]), 2).close()
        except OSError:
            return False
        return ready

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self.programs / program, *arguments],
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            msg = f"{program} failed:\n{done.stdout}\n{done.stderr}"
            raise RuntimeError(msg)
        return done.stdout

    def _environment(self) -> dict[str, str]:
        ports = self.ports
        grpc = f"127.0.0.1:{ports['grpc']}"
        return os.environ | {
            "DATABASE_URL": f"{self.postgres.dsn(DATABASE)}?sslmode=disable",
            "DATABASE_LOGGER_LEVEL": "warn",
            "LITE_FRONTEND_PORT": str(ports["frontend"]),
            "LITE_RUNTIME_PORT": str(ports["runtime"]),
            "LITE_STATIC_ASSET_DIR": str(self.folder / "static"),
            "SERVER_ALERTING_SENTRY_ENABLED": "f",
            "SERVER_ANALYTICS_POSTHOG_ENABLED": "f",
            "SERVER_AUTH_COOKIE_DOMAIN": "127.0.0.1",
            "SERVER_AUTH_COOKIE_INSECURE": "t",
            "SERVER_AUTH_COOKIE_SECRETS": "0123456789abcdef fedcba9876543210",
            "SERVER_AUTH_SET_EMAIL_VERIFIED": "t",
            "SERVER_ENCRYPTION_JWT_PRIVATE_KEYSET_FILE": str(self._keys / "private_ec256.key"),
            "SERVER_ENCRYPTION_JWT_PUBLIC_KEYSET_FILE": str(self._keys / "public_ec256.key"),
            "SERVER_ENCRYPTION_MASTER_KEYSET_FILE": str(self._keys / "master.key"),
            "SERVER_GRPC_BIND_ADDRESS": "127.0.0.1",
            "SERVER_GRPC_BROADCAST_ADDRESS": grpc,
            "SERVER_GRPC_INSECURE": "t",
            "SERVER_GRPC_PORT": str(ports["grpc"]),
            "SERVER_HEALTHCHECK": "t",
            "SERVER_HEALTHCHECK_PORT": str(ports["health"]),
            "SERVER_LOGGER_FORMAT": "console",
            "SERVER_LOGGER_LEVEL": "warn",
            "SERVER_MSGQUEUE_KIND": "postgres",
            "SERVER_PORT": str(ports["api"]),
            "SERVER_PROMETHEUS_ADDRESS": f"127.0.0.1:{ports['metrics']}",
            "SERVER_PROMETHEUS_ENABLED": "t",
            "SERVER_PROMETHEUS_PATH": "/metrics",
            "SERVER_SECURITY_CHECK_ENABLED": "f",
            "SERVER_URL": f"http://127.0.0.1:{ports['api']}",
        }


@contextmanager
def hatchet_engine(programs: Path, postgres: PostgresServer) -> Iterator[HatchetEngine]:
    """Run an engine until the block ends.

    Args:
        programs: The folder of the engine's programs.
        postgres: Holds its database.
    """
    with tempfile.TemporaryDirectory(prefix="lgos-hatchet-") as folder:
        engine = HatchetEngine(programs, Path(folder), postgres)
        engine.set_up()
        engine.start()
        try:
            yield engine
        finally:
            engine.stop(signal.SIGKILL)
