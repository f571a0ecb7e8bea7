"""The programs of a Hatchet engine, built once from a pinned Go module into the cache.

`tests/tools/hatchet_module/` names the engine's commands as Go tools: the engine with its REST API in one process, its
migrations and its administration. The first build takes some minutes; go.mod and go.sum decide the cache key.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.cache import ROOT, building, cache_dir, digest, forget_others
from tools.go import go_environment

MODULE = ROOT / "tests" / "tools" / "hatchet_module"
HATCHET_VERSION = "v0.104.7"
PROGRAMS = ("hatchet-admin", "hatchet-lite", "hatchet-migrate")


def hatchet_dir() -> Path:
    """Return the folder of the programs for this version of the module; it may not be built yet."""
    return (
        cache_dir() / f"hatchet-{digest([MODULE / 'go.mod', MODULE / 'go.sum'], HATCHET_VERSION)}"
    )


def build_hatchet() -> Path:
    """Build the programs when the cache has none for this version; return their folder."""
    target = hatchet_dir()
    with building(target) as scratch:
        if scratch is not None:
            _build(scratch)
    forget_others(target)
    return target


def _build(folder: Path) -> None:
    started = time.monotonic()
    print(f"Hatchet {HATCHET_VERSION}: building (minutes when cold)", file=sys.stderr, flush=True)
    environment = go_environment() | {"GOBIN": str(folder)}
    go = shutil.which("go", path=environment["PATH"])
    if go is None:
        msg = "no Go was found in PATH: install Go 1.26 or newer"
        raise FileNotFoundError(msg)
    # The SDK asks the engine for its version and leaves features out for older ones.
    flags = f"-s -w -X main.Version={HATCHET_VERSION}"
    command = [go, "install", "-mod=readonly", "-trimpath", f"-ldflags={flags}", "tool"]
    subprocess.run(command, cwd=MODULE, env=environment, check=True)
    print(f"Hatchet: built in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(build_hatchet())
