"""The operator as a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from operator_kit.live_api import eventually

WRITING = ("POST", "PUT", "PATCH", "DELETE")
_SAMPLE = re.compile(
    r'lgos_operator_api_requests_total\{code="(\d+)",resource="([^"]+)",verb="(\w+)"\} (\S+)'
)


class OperatorProcess:
    """Starts and stops `python -m lgos_operator` against one API server."""

    def __init__(self, kubeconfig: Path, folder: Path, **environ: str) -> None:
        self.log = folder / "operator.log"
        self.health_port = free_port()
        self.metrics_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._environ = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "LGOS_HEALTH_PORT": str(self.health_port),
            "LGOS_METRICS_PORT": str(self.metrics_port),
            **environ,
        }

    async def start(self) -> None:
        self._process = await asyncio.to_thread(self._spawn)

        async def ready() -> bool | None:
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()
            return (await asyncio.to_thread(self.fetch, self.health_port, "/readyz"))[
                0
            ] == 200 or None

        await eventually(ready, within=30, otherwise=self.tell)

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "lgos_operator"]
            return subprocess.Popen(command, env=self._environ, stdout=log, stderr=log)

    async def stop(self) -> tuple[int, float]:
        """Send SIGTERM and return the exit code and the seconds that it took."""
        assert self._process is not None
        loop = asyncio.get_running_loop()
        begin = loop.time()
        self._process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(self._process.wait, 30)
        self._process = None
        return code, loop.time() - begin

    def kill(self) -> None:
        """End the process, gently first: a killed one leaves no coverage."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    async def tell(self) -> str:
        return self.log.read_text()[-4000:]

    def fetch(self, port: int, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    async def metrics(self) -> str:
        return (await asyncio.to_thread(self.fetch, self.metrics_port, "/metrics"))[1]

    async def requests(self, *verbs: str) -> dict[tuple[str, str, str], int]:
        """Return how many requests of these verbs were sent, by verb, resource and code."""
        found = {}
        for code, resource, verb, value in _SAMPLE.findall(await self.metrics()):
            if verb in verbs:
                found[verb, resource, code] = int(float(value))
        return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
