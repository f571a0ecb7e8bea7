"""A program as a user runs it: started with its output in a file, waited for with a deadline, ended by its id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
LGOS = Path(sys.executable).parent / "lgos"
DEADLINE = 40.0


class Program:
    """One running process and what it has said."""

    def __init__(self, command: Sequence[str | Path], cwd: Path, env: dict[str, str]) -> None:
        self._output = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed by close()
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **env},
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def output(self) -> str:
        """Everything that was printed up to now."""
        return os.pread(self._output.fileno(), 1 << 20, 0).decode()

    def until(self, holds: Callable[[], bool], seconds: float = DEADLINE) -> None:
        """Wait until `holds()`."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"waited {seconds} s in vain:\n{self.output()}"
            time.sleep(0.02)

    def says(self, text: str, times: int = 1, seconds: float = DEADLINE) -> None:
        """Wait until the output has `text`."""

        def said() -> bool:
            if self.output().count(text) >= times:
                return True
            assert self.process.poll() is None, f"ended without {text!r}:\n{self.output()}"
            return False

        self.until(said, seconds)

    def exit_code(self, seconds: float = DEADLINE) -> int:
        """Wait for the end."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s:\n{self.output()}") from None

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End the process for certain."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._output.close()


@contextmanager
def running(
    *command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> Iterator[Program]:
    """Run a program for as long as the block."""
    program = Program(command, cwd, env or {})
    try:
        yield program
    finally:
        program.close()


def finished(
    *command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=DEADLINE
    )  # fmt: skip


def status(url: str) -> int:
    """The HTTP status of a GET; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
