"""Folder of what the tests' tools build once: keyed by inputs, written atomically, under file locks.

Everything lives below `~/.cache/lgos-tools` (`$LGOS_TOOLS_CACHE` moves it). A key is the hash of the
files that decide the content, so a changed input never meets an old build. This package needs nothing
but the standard library: CI starts the builds before the project's environment exists.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""


def cache_dir() -> Path:
    """Return the cache folder; it is created when missing."""
    default = Path.home() / ".cache" / "lgos-tools"
    folder = Path(os.environ.get("LGOS_TOOLS_CACHE") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(files: Iterable[Path], *texts: str) -> str:
    """Return 16 hex digits that change with any file's path or content, and with any text."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.relative_to(ROOT)}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    for text in texts:
        total.update(hashlib.sha256(text.encode()).digest())
    return total.hexdigest()[:16]


def lock_file(name: str) -> Path:
    """Return the file that is locked for `name`. It is never deleted: a waiting process may hold it open."""
    folder = cache_dir() / "locks"
    folder.mkdir(exist_ok=True)
    return folder / name


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock `name` of this cache; a second process waits and says so."""
    with lock_file(name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                f"waiting for another process that holds {file.name}", file=sys.stderr, flush=True
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def building(target: Path) -> Iterator[Path | None]:
    """Give a fresh folder that becomes `target` when the block ends well; `None` when `target` is there.

    A build that fails or is killed leaves no `target`, so the next run builds again.
    """
    with lock(target.name):
        if target.exists():
            yield None
            return
        scratch = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
        try:
            scratch.chmod(0o755)
            yield scratch
            scratch.rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def forget_others(target: Path, keep: int = 2) -> None:
    """Delete all but the newest `keep` builds with `target`'s name up to its last dash."""
    stem = target.name.rpartition("-")[0]
    builds = [path for path in target.parent.glob(f"{stem}-*") if path.is_dir() and path != target]
    builds.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in builds[keep - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
