"""`lgos dev`: keeps one serving process that runs what the manifests and graphs say now.

A change ends the process and starts another one. When the new state cannot be served, its sentence is printed and nothing
is served until the next change: an answer from code that is no longer in the files would mislead. A start that fails
right away, before anything was served, ends the command.
"""

from __future__ import annotations

import dataclasses
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Final

from langgraph_openai_serve.cli.handover import LocalOptions, Report
from langgraph_openai_serve.cli.sources import Watch

LOOK_SECONDS: Final = 0.25
SETTLE_SECONDS: Final = 0.1
"""Editors and checkouts write several files; wait until this long nothing changes."""
END_SECONDS: Final = 10.0
SERVER_MODULE: Final = "langgraph_openai_serve.cli.local"


def dev(options: LocalOptions) -> int:
    """Serve until SIGINT or SIGTERM.

    Returns:
        0 after a signal, 1 when the first start fails.
    """
    return _Supervisor(options).run()


class _Child:
    """One serving process."""

    def __init__(self, options: LocalOptions) -> None:
        self.started_ns = time.time_ns()
        self.link, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module and options
                [sys.executable, "-P", "-m", SERVER_MODULE, options.dumped(), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
            )
        self._line = b""

    def receive(self, seconds: float) -> Report | None:
        """Wait for the report for a while.

        Raises:
            EOFError: The process has ended.
        """
        readable, _, _ = select.select([self.link], [], [], seconds)
        if not readable:
            return None
        data = self.link.recv(65536)
        if not data:
            raise EOFError
        self._line += data
        return Report.loaded(self._line) if self._line.endswith(b"\n") else None

    def end(self) -> int:
        """End the process and return its exit code."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self.link.close()


class _Supervisor:
    """Starts a child for each state of the files."""

    def __init__(self, options: LocalOptions) -> None:
        self._options = options
        self._stopped = False
        self._has_served = False

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        watch: Watch | None = None
        while True:
            child = _Child(self._options)
            try:
                watch = self._started(child, watch)
                if not self._stopped and self._has_served:
                    self._until_change(child, watch)
            finally:
                child.end()
            if self._stopped:
                return 0
            if not self._has_served:
                return 1

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopped = True

    def _started(self, child: _Child, before: Watch | None) -> Watch | None:
        """Wait for the child's report; without one, what was watched before stays watched."""
        report = None
        try:
            while report is None and not self._stopped:
                report = child.receive(LOOK_SECONDS)
        except EOFError:
            _say(f"the server ended with exit code {child.end()} before it served")
        if report is None:
            return before
        if report.is_serving:
            self._has_served = True
            # Whoever asked for any port keeps the one that was printed.
            self._options = dataclasses.replace(self._options, port=report.port)
        elif self._has_served:
            _say("nothing is served until a file changes")
        return Watch.since(report, child.started_ns, time.time_ns())

    def _until_change(self, child: _Child, watch: Watch | None) -> None:
        is_linked = True
        while not self._stopped:
            changed = watch.changed() if watch else []
            if watch and changed:
                _say(f"{_shown(changed[0])} changed; starting again")
                self._settle(watch)
                return
            if not is_linked:
                time.sleep(LOOK_SECONDS)
                continue
            try:
                child.receive(LOOK_SECONDS)
            except EOFError:
                is_linked = False
                child.end()
                if watch and watch.report.is_serving and not self._stopped:
                    _say("the server has ended; nothing is served until a file changes")

    def _settle(self, watch: Watch) -> None:
        before = None
        while (now := watch.look()) != before and not self._stopped:
            before = now
            time.sleep(SETTLE_SECONDS)
        watch.changed()


def _shown(path: Path) -> Path:
    current = Path.cwd()
    return path.relative_to(current) if path.is_relative_to(current) else path


def _say(sentence: str) -> None:
    sys.stderr.write(f"lgos dev: {sentence}\n")
    sys.stderr.flush()
