"""Background programs of a cluster: started with a log file, known by a PID file, ended by PID."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_own: dict[int, subprocess.Popen[bytes]] = {}
"""What this process started and must reap; an earlier, killed run's programs are not in it."""


def start(folder: Path, name: str, command: Sequence[str | Path]) -> None:
    """Start `command` in its own session; its output goes to `folder/log`, its PID to `folder/pid`."""
    log = folder / "log" / f"{name}.log"
    pid_file = folder / "pid" / name
    for file in (log, pid_file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [os.fspath(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _own[process.pid] = process
    pid_file.write_text(str(process.pid))


def running(folder: Path, name: str) -> int | None:
    """Return the PID of `name` when it still runs and is still ours.

    A PID can be taken by a stranger after a reboot, so the command line must name this cluster: the
    folder, or the cached programs.
    """
    pid_file = folder / "pid" / name
    if not pid_file.exists():
        return None
    pid = int(pid_file.read_text())
    if pid in _own:  # its command line may still be empty: the kernel fills it in after the start
        return pid if _own[pid].poll() is None else None
    if not alive(pid):
        return None
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return pid if str(folder) in command else None


def alive(pid: int) -> bool:
    """Return whether the process exists; a zombie that waits for its parent counts as gone."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def stop(folder: Path, name: str) -> None:
    """Kill `name` and wait until it is gone; a program that does not run is no error."""
    pid_file = folder / "pid" / name
    pid = running(folder, name)
    if pid is not None:
        kill(pid)
    elif pid_file.exists():
        _reap(int(pid_file.read_text()))
    pid_file.unlink(missing_ok=True)


def kill(pid: int) -> None:
    """Kill a process and wait up to ten seconds until it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    _reap(pid)
    wait_for(lambda: not alive(pid), 10, f"process {pid} to end")


def _reap(pid: int) -> None:
    process = _own.pop(pid, None)
    if process is not None:
        process.wait(10)


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except FileNotFoundError:
        return []


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Ask every 50 ms until `condition` holds.

    Raises:
        TimeoutError: it did not hold within `seconds`.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            msg = f"waited {seconds:.0f} s in vain for {what}"
            raise TimeoutError(msg)
        time.sleep(0.05)
