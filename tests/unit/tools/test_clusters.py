"""A program that was just started is known as running, and two caches share the machine's clusters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.processes import alive, running, start, stop
from tools.settings import node_settings


def test_a_program_counts_as_running_from_its_first_moment_until_it_is_stopped(
    tmp_path: Path,
) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    for number in range(20):
        start(tmp_path, f"program-{number}", [sleep, "60"])
        assert running(tmp_path, f"program-{number}") is not None
    pid = running(tmp_path, "program-0")
    assert pid is not None
    for number in range(20):
        stop(tmp_path, f"program-{number}")
    assert running(tmp_path, "program-0") is None
    assert not alive(pid)


def test_a_stranger_with_an_old_pid_is_not_taken_for_our_program(tmp_path: Path) -> None:
    (tmp_path / "pid").mkdir()
    (tmp_path / "pid" / "etcd").write_text("1")
    assert running(tmp_path, "etcd") is None


@pytest.mark.parametrize("slot", [0, 1])
def test_checkouts_with_caches_of_their_own_lock_the_same_node(slot: int) -> None:
    one, other = (node_settings(slot, Path(folder)) for folder in ("/one", "/other"))
    assert one.lock == other.lock
    assert one.lock.parent == one.state.parent
