"""The Debian packages that the tests' tools need."""

from __future__ import annotations

import os
import subprocess
import sys

from tools.cache import ROOT

LIST = ROOT / "tests" / "tools" / "apt-packages.txt"


def missing_packages() -> list[str]:
    """Return the listed packages that are not installed."""
    lines = [line.strip() for line in LIST.read_text().splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *wanted]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    return [name for name in wanted if f"{name} installed" not in answer.splitlines()]


def install_packages() -> None:
    """Install what is missing with apt-get; needs root, does nothing when all is there."""
    missing = missing_packages()
    if not missing:
        return
    print(f"Debian packages: installing {' '.join(missing)}", file=sys.stderr, flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    options = ["-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]
    subprocess.run(["apt-get", "update", "-q"], env=environment, stdout=sys.stderr, check=True)
    subprocess.run(
        ["apt-get", "install", *options, *missing], env=environment, stdout=sys.stderr, check=True
    )
