"""A server process for a test: started on a free port, waited for, ended by its process id."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

BIN = Path(sys.executable).parent
START_SECONDS = 60.0
END_SECONDS = 20.0


def free_port() -> int:
    """A port of the loopback address that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def environment(**extra: str) -> dict[str, str]:
    """This process's environment with the project's programs first on the path."""
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **extra}


def is_ready(port: int) -> bool:
    """Whether `/readyz` answers 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def serving(
    command: Sequence[str | Path], port: int, cwd: Path, env: Mapping[str, str]
) -> Iterator[None]:
    """Run `command` in a process group of its own until the block ends.

    Raises:
        AssertionError: The process ended early or was not ready in time; the message has its output.
    """
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_ready(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    raise AssertionError(f"{command[0]} is not ready:\n{output.read()}")
                time.sleep(0.05)
            yield
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started: first with SIGTERM, after a while with SIGKILL."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
